// The only reader of process.env. Environment, `.env` and the optional config.yaml become one frozen object,
// checked once; a wrong value ends the start with one line that names it, what was found and what is allowed.
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { parse as parseYaml } from "yaml";
import type { ApiKeySettings } from "./config/api-keys.ts";
import {
  type FileSettings,
  fileSchema,
  type LimitSettings,
  type ModelSettings,
  modelSchema,
  type ResearchFileSettings,
  type SessionOptions,
  type SummarizationSettings,
  type TitleSettings,
} from "./config/file.ts";
import {
  type LogLevel,
  type Role,
  type SandboxSetting,
  SECRET_SETTINGS,
  SETTINGS,
  type Settings,
} from "./config/settings.ts";
import { StartupError } from "./errors.ts";

export type { ModelSettings };

export interface Config {
  readonly host: string;
  readonly port: number;
  /** Absolute. */
  readonly dataDir: string;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly role: Role;
  /** The name of each key, and its SHA-256. */
  readonly apiKeys: readonly ApiKeySettings[];
  /** The models to choose from, the default first; empty means the demo model. */
  readonly models: readonly ModelSettings[];
  /** For what is not a model of the list: embeddings. */
  readonly openai: { readonly apiKey?: string | undefined; readonly baseUrl?: string | undefined };
  readonly sandbox: SandboxSetting;
  readonly workers: number;
  readonly leaseSeconds: number;
  readonly maxAttempts: number;
  readonly stuckSeconds: number;
  readonly graceSeconds: number;
  readonly eventRetentionSeconds: number;
  readonly messageStateRetentionSeconds: number;
  readonly tokenWindowMs: number;
  readonly callWarnSeconds: number;
  readonly maxBodyBytes: number;
  readonly maxImportBytes: number;
  readonly maxUploadBytes: number;
  readonly corsOrigins: readonly string[];
  /** Base64, with or without `whsec_`. */
  readonly webhookSecret: string | undefined;
  readonly webhookAllow: readonly string[];
  /** By graph name: the config, and in `context` the context, that the graph's own assistant starts with. */
  readonly graphSettings: Settings["LANGGRAPH_CONFIG"];
  readonly allowTruncate: boolean;
  readonly logLevel: LogLevel;
  readonly title: TitleSettings;
  readonly summarization: SummarizationSettings;
  readonly sessions: SessionOptions;
  readonly limits: LimitSettings;
  readonly research: ResearchFileSettings;
  /** Where publications are searched, and who asks. */
  readonly literature: {
    readonly openAlexUrl: string;
    readonly arxivUrl: string;
    readonly mailto: string | undefined;
  };
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
    redisUrl: settings.REDIS_URL,
    role: settings.ROLE,
    apiKeys: settings.API_KEYS,
    models: toModels(file.models, settings, env),
    openai: { apiKey: settings.OPENAI_API_KEY, baseUrl: settings.OPENAI_BASE_URL },
    sandbox: settings.SANDBOX,
    workers: settings.ROLE === "api" ? 0 : settings.WORKERS,
    leaseSeconds: settings.LEASE_SECONDS,
    maxAttempts: settings.MAX_ATTEMPTS,
    stuckSeconds: settings.STUCK_SECONDS,
    graceSeconds: settings.GRACE_SECONDS,
    eventRetentionSeconds: settings.EVENT_RETENTION,
    messageStateRetentionSeconds: settings.MESSAGE_STATE_RETENTION,
    tokenWindowMs: settings.TOKEN_WINDOW_MS,
    callWarnSeconds: settings.CALL_WARN_SECONDS,
    maxBodyBytes: settings.MAX_BODY_MB * MEBIBYTE,
    maxImportBytes: settings.MAX_IMPORT_MB * MEBIBYTE,
    maxUploadBytes: settings.MAX_UPLOAD_MB * MEBIBYTE,
    corsOrigins: settings.CORS_ORIGINS,
    webhookSecret: settings.WEBHOOK_SECRET,
    webhookAllow: settings.WEBHOOK_ALLOW,
    graphSettings: settings.LANGGRAPH_CONFIG,
    allowTruncate: settings.ALLOW_TRUNCATE,
    logLevel: settings.LOG_LEVEL,
    title: file.title,
    summarization: file.summarization,
    sessions: file.sessions,
    limits: file.limits,
    research: file.research,
    literature: {
      openAlexUrl: settings.OPENALEX_URL,
      arxivUrl: settings.ARXIV_URL,
      mailto: settings.LITERATURE_MAILTO,
    },
    debugState: file.debug_state,
  });
}

/**
 * Puts what `env` of langgraph.json says into the environment of this process, where graphs look for it. What is set
 * already stays. Of Heddle's own settings only LANGGRAPH_CONFIG is read from there: a project's file may well have a
 * PORT or DATABASE_URL that is meant for something else.
 * @param env the path of a file as seen from `folder`, the variables themselves, or the names of those that must be set
 * @param onMissing is told of a file that is not there
 * @throws StartupError when the file cannot be read, or a variable that must be set is not
 */
export function applyProjectEnv(
  config: Config,
  { env, folder }: { env?: string | Record<string, string> | string[] | undefined; folder: string },
  onMissing: (file: string) => void,
): Config {
  if (Array.isArray(env)) {
    const missing = env.filter((name) => process.env[name] === undefined);
    if (missing.length === 0) return config;
    throw new StartupError(`langgraph.json says that ${missing.join(", ")} must be set.`, {
      next: `${missing[0]}=... npm start`,
    });
  }
  const variables = typeof env === "string" ? readEnvFile(path.resolve(folder, env), onMissing) : (env ?? {});
  const isConfigured = Object.keys(config.graphSettings).length > 0;
  for (const [name, value] of Object.entries(variables)) process.env[name] ??= value;
  if (isConfigured || variables.LANGGRAPH_CONFIG === undefined) return config;
  const { LANGGRAPH_CONFIG } = readSettings({ LANGGRAPH_CONFIG: variables.LANGGRAPH_CONFIG });
  return deepFreeze({ ...config, graphSettings: LANGGRAPH_CONFIG });
}

function readSettings(env: Record<string, string | undefined>): Settings {
  const entries = Object.entries(SETTINGS).map(([name, { schema, allowed }]) => {
    const found = env[name];
    const result = schema.safeParse(found === "" ? undefined : found);
    if (!result.success) {
      const shown = SECRET_SETTINGS.has(name) ? "not valid" : JSON.stringify(found);
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

const readDotEnv = (cwd: string) => readEnvFile(path.join(cwd, ".env"));

/** Nothing when the file is not there. */
function readEnvFile(file: string, onMissing?: (file: string) => void): Record<string, string | undefined> {
  const text = readIfThere(file);
  if (text === undefined) onMissing?.(file);
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
