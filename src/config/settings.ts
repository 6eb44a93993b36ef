// Every environment variable that Heddle reads: what it may be, its default, and its line in .env.example.
import { z } from "zod";

const optionalText = z.preprocess(
  (value) => (value === "" ? undefined : value),
  z.string().trim().min(1).optional(),
);
const whole = (min: number, max: number) => z.coerce.number().int().min(min).max(max);

const SECONDS = { s: 1, m: 60, h: 3600, d: 86_400 } as const;
/** A time such as 24h, as seconds; at most 10 years. */
const duration = (byDefault: string) =>
  z
    .string()
    .default(byDefault)
    .transform((text) => {
      const [, count, unit = ""] = /^([1-9]\d{0,8})([smhd])$/.exec(text.trim()) ?? [];
      return Number(count) * SECONDS[unit as keyof typeof SECONDS];
    })
    .pipe(z.number().max(3650 * SECONDS.d));

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
const ROLES = ["all", "api", "worker"] as const;
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
        .refine((text) => URL.canParse(text))
        .optional(),
    ),
    "postgres://user:password@host:5432/database",
    "",
    "PostgreSQL 14 or later. Empty: Heddle starts its own PostgreSQL in DATA_DIR.",
  ),
  REDIS_URL: setting(
    optionalText.pipe(
      z
        .string()
        .regex(/^rediss?:\/\//)
        .optional(),
    ),
    "redis://user:password@host:6379",
    "",
    "Redis for wake-ups between several servers. Empty: PostgreSQL carries them. Nothing is kept in it.",
  ),
  ROLE: setting(
    z.enum(ROLES).default("all"),
    ROLES.join(", "),
    "all",
    "What this server does: takes requests (api), runs runs (worker) or both (all).",
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
  MAX_ATTEMPTS: setting(
    whole(1, 100).default(3),
    "an integer from 1 to 100",
    "3",
    "Workers that a run may end (by a crash, or by falling silent) before it is given up as an error.",
  ),
  STUCK_SECONDS: setting(
    whole(10, 86400).default(60),
    "an integer from 10 to 86400",
    "60",
    "Seconds that a graph may block the event loop before the process ends itself, so that its runs go on.",
  ),
  GRACE_SECONDS: setting(
    whole(0, 3600).default(10),
    "an integer from 0 to 3600",
    "10",
    "Seconds that running runs get to end when the server is told to stop.",
  ),
  EVENT_RETENTION: setting(
    duration("24h"),
    "a whole number and a unit, s, m, h or d, from 1s to 3650d",
    "24h",
    "How long after a run's end its events can be streamed again; then they are deleted.",
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

/** Settings that hold a password: their value is never printed. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set(["DATABASE_URL", "REDIS_URL", "OPENAI_API_KEY"]);

export type Settings = { [K in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[K]["schema"]> };
export type Role = (typeof ROLES)[number];
export type SandboxSetting = (typeof SANDBOXES)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];
