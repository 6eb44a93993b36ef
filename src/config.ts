// The only reader of process.env. Environment, `.env` and the optional config.yaml become one frozen object,
// checked once; a wrong value ends the start with one line that names it, what was found and what is allowed.
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { parse as parseYaml } from "yaml";
import { z } from "zod";
import { StartupError } from "./errors.ts";

const optionalText = z.preprocess(
  (value) => (value === "" ? undefined : value),
  z.string().trim().min(1).optional(),
);
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

interface Setting<T extends z.ZodType = z.ZodType> {
  readonly schema: T;
  /** What the value may be, for the error message. */
  readonly allowed: string;
  /** The line in .env.example. */
  readonly comment: string;
  /** What .env.example shows; empty for a setting without a default. */
  readonly example: string;
}

const setting = <T extends z.ZodType>(
  schema: T,
  allowed: string,
  example: string,
  comment: string,
): Setting<T> => ({
  schema,
  allowed,
  comment,
  example,
});

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const SANDBOXES = ["auto", "bubblewrap", "virtual", "local"] as const;

/** Every environment variable Heddle reads. `.env.example` is compared with this table by test/documents.test.ts. */
export const SETTINGS = {
  HOST: setting(
    z.string().min(1).default("127.0.0.1"),
    "a host name or an IP address",
    "127.0.0.1",
    "Address to listen on. There is no authentication yet: bind another address only behind a proxy that has it.",
  ),
  PORT: setting(
    whole(0, 65535).default(2024),
    "an integer from 0 to 65535",
    "2024",
    "Port to listen on; 0 takes a free one.",
  ),
  DATA_DIR: setting(
    z.string().min(1).default(".heddle"),
    "a path",
    ".heddle",
    "Folder for the threads' files and the embedded PostgreSQL.",
  ),
  DATABASE_URL: setting(
    optionalText.pipe(
      z
        .string()
        .regex(/^postgres(ql)?:\/\//)
        .optional(),
    ),
    "postgres://user:password@host:5432/database",
    "",
    "PostgreSQL 14 or later. Empty: Heddle starts its own PostgreSQL in DATA_DIR.",
  ),
  OPENAI_API_KEY: setting(
    optionalText,
    "a key",
    "",
    "Key of OpenAI or of a compatible endpoint. Empty, with OPENAI_BASE_URL empty too: the demo model answers.",
  ),
  OPENAI_BASE_URL: setting(
    optionalText.pipe(z.url({ protocol: /^https?$/ }).optional()),
    "an http or https URL",
    "",
    "An OpenAI-compatible endpoint, for example http://127.0.0.1:11434/v1. Empty: OpenAI's own.",
  ),
  MODEL: setting(
    z.string().min(1).default("gpt-5-mini"),
    "a model name",
    "gpt-5-mini",
    "Model that answers when config.yaml names none.",
  ),
  SANDBOX: setting(
    z.enum(SANDBOXES).default("auto"),
    SANDBOXES.join(", "),
    "auto",
    "Where the agent's commands run: bubblewrap, virtual, local (host processes, unsafe) or auto.",
  ),
  WORKERS: setting(
    whole(0, 1000).default(10),
    "an integer from 0 to 1000",
    "10",
    "Runs that this process runs at once.",
  ),
  LEASE_SECONDS: setting(
    whole(3, 3600).default(15),
    "an integer from 3 to 3600",
    "15",
    "Seconds after which another worker takes over a run whose worker fell silent.",
  ),
  GRACE_SECONDS: setting(
    whole(0, 3600).default(10),
    "an integer from 0 to 3600",
    "10",
    "Seconds that running runs get to end when the server is told to stop.",
  ),
  MAX_BODY_MB: setting(
    whole(1, 1024).default(16),
    "an integer from 1 to 1024",
    "16",
    "Largest JSON body in MiB.",
  ),
  MAX_UPLOAD_MB: setting(
    whole(1, 102400).default(50),
    "an integer from 1 to 102400",
    "50",
    "Largest uploaded file in MiB.",
  ),
  CORS_ORIGINS: setting(
    z
      .string()
      .default("*")
      .transform((text) =>
        text
          .split(",")
          .map((origin) => origin.trim())
          .filter(Boolean),
      ),
    "* or a list of origins with commas",
    "*",
    "Web origins that may call the API: * or https://a.example,https://b.example.",
  ),
  LOG_LEVEL: setting(
    z.enum(LOG_LEVELS).default("info"),
    LOG_LEVELS.join(", "),
    "info",
    "How much is logged.",
  ),
  CONFIG_FILE: setting(
    z.string().min(1).default("config.yaml"),
    "a path",
    "config.yaml",
    "Optional file with models, title, summarization and limits; see config.example.yaml.",
  ),
} satisfies Record<string, Setting>;

const modelSchema = z.strictObject({
  /** What `configurable.model_name` and GET /models say. */
  name: z.string().min(1),
  /** What the endpoint calls it; the name by default. */
  model: z.string().min(1).optional(),
  vision: z.boolean().default(true),
  base_url: z.url({ protocol: /^https?$/ }).optional(),
  /** Name of the environment variable that holds the key; OPENAI_API_KEY by default. */
  api_key_env: z.string().min(1).optional(),
  /** Seconds until a call that says nothing is given up. */
  timeout_seconds: z.number().positive().max(3600).default(120),
  max_retries: z.number().int().min(0).max(20).default(3),
  /** Tokens the model can read; tells when to summarize. */
  context_tokens: z.number().int().min(1000).default(128_000),
});

const fileSchema = z.strictObject({
  models: z.array(modelSchema).min(1).optional(),
  title: z
    .strictObject({
      enabled: z.boolean().default(true),
      max_words: z.number().int().min(1).max(50).default(8),
      max_chars: z.number().int().min(10).max(500).default(80),
      prompt_template: z
        .string()
        .default(
          "Write a title of at most {max_words} words for this conversation. Answer with the title alone.\n\nUser: {user_msg}\n\nAssistant: {assistant_msg}",
        ),
    })
    .prefault({}),
  summarization: z
    .strictObject({
      enabled: z.boolean().default(true),
      /** Summarize when the messages have more tokens than this; 0.75 of the model's context by default. */
      trigger_tokens: z.number().int().min(500).optional(),
      /** Newest messages that stay as they are. */
      keep_messages: z.number().int().min(1).default(20),
    })
    .prefault({}),
  limits: z
    .strictObject({
      /** Supersteps of one run. */
      recursion_limit: z.number().int().min(5).max(10_000).default(200),
      command_timeout_seconds: z.number().positive().max(86_400).default(600),
      command_memory_mb: z.number().int().min(64).default(2048),
      sandbox_idle_seconds: z.number().positive().default(600),
      uploads_per_request: z.number().int().min(1).max(1000).default(10),
    })
    .prefault({}),
  debug_state: z.boolean().default(false),
});

type FileSettings = z.output<typeof fileSchema>;
export type ModelSettings = z.output<typeof modelSchema> & { readonly apiKey?: string };
export type TitleSettings = FileSettings["title"];
export type SummarizationSettings = FileSettings["summarization"];
export type LimitSettings = FileSettings["limits"];
export type SandboxSetting = (typeof SANDBOXES)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface Config {
  readonly host: string;
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  /** The models to choose from, the default first; empty means the demo model. */
  readonly models: readonly ModelSettings[];
  readonly sandbox: SandboxSetting;
  readonly workers: number;
  readonly leaseSeconds: number;
  readonly graceSeconds: number;
  readonly maxBodyBytes: number;
  readonly maxUploadBytes: number;
  readonly corsOrigins: readonly string[];
  readonly logLevel: LogLevel;
  readonly title: TitleSettings;
  readonly summarization: SummarizationSettings;
  readonly limits: LimitSettings;
  readonly debugState: boolean;
}

interface Sources {
  readonly env?: Record<string, string | undefined>;
  /** Folder that `.env`, config.yaml and a relative DATA_DIR are looked up in. */
  readonly cwd?: string;
}

/**
 * Reads and checks all settings. The environment wins over `.env`.
 * @throws StartupError naming the setting, what was found and what is allowed
 */
export function loadConfig(sources: Sources = {}): Config {
  const cwd = sources.cwd ?? process.cwd();
  const env: Record<string, string | undefined> = { ...readDotEnv(cwd), ...(sources.env ?? process.env) };
  const settings = readSettings(env);
  // The default file may be missing; one that was asked for may not.
  const isAskedFor = settings.CONFIG_FILE !== SETTINGS.CONFIG_FILE.example;
  const file = readFile(path.resolve(cwd, settings.CONFIG_FILE), isAskedFor);
  const MEBIBYTE = 1024 * 1024;
  return deepFreeze({
    host: settings.HOST,
    port: settings.PORT,
    dataDir: path.resolve(cwd, settings.DATA_DIR),
    databaseUrl: settings.DATABASE_URL,
    models: toModels(file.models, settings, env),
    sandbox: settings.SANDBOX,
    workers: settings.WORKERS,
    leaseSeconds: settings.LEASE_SECONDS,
    graceSeconds: settings.GRACE_SECONDS,
    maxBodyBytes: settings.MAX_BODY_MB * MEBIBYTE,
    maxUploadBytes: settings.MAX_UPLOAD_MB * MEBIBYTE,
    corsOrigins: settings.CORS_ORIGINS,
    logLevel: settings.LOG_LEVEL,
    title: file.title,
    summarization: file.summarization,
    limits: file.limits,
    debugState: file.debug_state,
  });
}

/** Settings that hold a password: their value is never printed. */
const SECRET = new Set(["DATABASE_URL", "OPENAI_API_KEY"]);

type Settings = { [K in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[K]["schema"]> };

function readSettings(env: Record<string, string | undefined>): Settings {
  const entries = Object.entries(SETTINGS).map(([name, { schema, allowed }]) => {
    const found = env[name];
    const result = schema.safeParse(found === "" ? undefined : found);
    if (!result.success) {
      const shown = SECRET.has(name) ? "not valid" : JSON.stringify(found);
      throw new StartupError(`${name} is ${shown}, but must be ${allowed}.`, {
        next: `Set ${name} in .env or in the environment, or leave it out for the default.`,
      });
    }
    return [name, result.data];
  });
  return Object.fromEntries(entries) as Settings;
}

function toModels(
  listed: FileSettings["models"],
  settings: Settings,
  env: Record<string, string | undefined>,
): ModelSettings[] {
  if (listed) {
    return listed.map((model) => ({
      ...model,
      base_url: model.base_url ?? settings.OPENAI_BASE_URL,
      apiKey: env[model.api_key_env ?? "OPENAI_API_KEY"] || undefined,
    }));
  }
  if (!settings.OPENAI_API_KEY && !settings.OPENAI_BASE_URL) return [];
  const model = modelSchema.parse({ name: settings.MODEL });
  return [{ ...model, base_url: settings.OPENAI_BASE_URL, apiKey: settings.OPENAI_API_KEY }];
}

function readDotEnv(cwd: string): Record<string, string | undefined> {
  const text = readIfThere(path.join(cwd, ".env"));
  return text === undefined ? {} : parseEnv(text);
}

function readFile(file: string, required: boolean): FileSettings {
  const text = readIfThere(file);
  if (text === undefined && required) {
    throw new StartupError("CONFIG_FILE names a file that is not there.", {
      file,
      next: "cp config.example.yaml config.yaml, or unset CONFIG_FILE.",
    });
  }
  let content: unknown;
  try {
    content = parseYaml(text ?? "") ?? {};
  } catch (error) {
    const [line] = String(error instanceof Error ? error.message : error).split("\n");
    throw new StartupError(`It is not YAML: ${line}`, {
      file,
      next: "Mend the file at that line.",
      cause: error,
    });
  }
  const result = fileSchema.safeParse(content);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const where = issue?.path.join(".") || "the file";
  throw new StartupError(`${where}: ${issue?.message ?? "is not valid"}.`, {
    file,
    next: "Compare it with config.example.yaml.",
  });
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw new StartupError("The file cannot be read.", {
      file,
      next: `Check its rights: ls -l ${file}`,
      cause: error,
    });
  }
}

function deepFreeze<T>(value: T): T {
  if (typeof value === "object" && value !== null) {
    for (const child of Object.values(value)) deepFreeze(child);
    Object.freeze(value);
  }
  return value;
}
