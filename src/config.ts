// The only reader of process.env. Environment, `.env` and the optional config.yaml become one frozen object,
// checked once; a wrong value ends the start with one line that names it, what was found and what is allowed.
import { readFileSync } from "node:fs";
import path from "node:path";
import { parseEnv } from "node:util";
import { parse as parseYaml } from "yaml";
import {
  type FileSettings,
  fileSchema,
  type LimitSettings,
  type ModelSettings,
  modelSchema,
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
  /** The models to choose from, the default first; empty means the demo model. */
  readonly models: readonly ModelSettings[];
  readonly sandbox: SandboxSetting;
  readonly workers: number;
  readonly leaseSeconds: number;
  readonly maxAttempts: number;
  readonly stuckSeconds: number;
  readonly graceSeconds: number;
  readonly eventRetentionSeconds: number;
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
    redisUrl: settings.REDIS_URL,
    role: settings.ROLE,
    models: toModels(file.models, settings, env),
    sandbox: settings.SANDBOX,
    workers: settings.ROLE === "api" ? 0 : settings.WORKERS,
    leaseSeconds: settings.LEASE_SECONDS,
    maxAttempts: settings.MAX_ATTEMPTS,
    stuckSeconds: settings.STUCK_SECONDS,
    graceSeconds: settings.GRACE_SECONDS,
    eventRetentionSeconds: settings.EVENT_RETENTION,
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
