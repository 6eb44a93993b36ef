// Every environment variable that Heddle reads: what it may be, its default, and its line in .env.example.
import { isIP } from "node:net";
import { z } from "zod";
import { parseApiKeys } from "./api-keys.ts";
import { duration, optionalText, type Setting, setting, whole } from "./setting.ts";

function isHostOrNetwork(text: string): boolean {
  const [address = "", prefix, ...rest] = text.split("/");
  if (rest.length > 0) return false;
  if (prefix === undefined && isIP(address) === 0) return /^[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?$/i.test(address);
  const bits = isIP(address) === 4 ? 32 : isIP(address) === 6 ? 128 : -1;
  return prefix === undefined || (/^\d{1,3}$/.test(prefix) && Number(prefix) <= bits);
}

/** What the assistant of each graph starts with. */
const graphSettings = z.record(
  z.string().min(1),
  z.looseObject({
    configurable: z.record(z.string(), z.unknown()).optional(),
    context: z.record(z.string(), z.unknown()).optional(),
  }),
);

const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"] as const;
const ROLES = ["all", "api", "worker"] as const;
const SANDBOXES = ["auto", "bubblewrap", "virtual", "local"] as const;

/** Every environment variable Heddle reads. `.env.example` is compared with this table by test/documents.test.ts. */
export const SETTINGS = {
  HOST: setting(
    z.string().min(1).default("127.0.0.1"),
    "a host name or an IP address",
    "127.0.0.1",
    "Address to listen on. Before others can reach it, set API_KEYS, or `auth` in langgraph.json.",
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
    "Redis for wake-ups between several servers (empty: PostgreSQL), and for checkpoints that ask for it.",
  ),
  ROLE: setting(
    z.enum(ROLES).default("all"),
    ROLES.join(", "),
    "all",
    "What this server does: takes requests (api), runs runs (worker) or both (all).",
  ),
  API_KEYS: setting(
    z.string().default("").transform(parseApiKeys),
    "name:key pairs with commas, or keys alone; a key has at least 8 characters of A-Z a-z 0-9 . _ ~ + / = -",
    "",
    "Keys that open the server, as x-api-key or Authorization: Bearer. What is made with one belongs to its name.",
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
    "How long after a run's end its events, and after a change its notification, can be streamed again.",
  ),
  MESSAGE_STATE_RETENTION: setting(
    duration("1h"),
    "a whole number and a unit, s, m, h or d, from 1s to 3650d",
    "1h",
    "How long after a run's end the state of its message (steps, thought) can be read; then it is deleted.",
  ),
  TOKEN_WINDOW_MS: setting(
    whole(25, 75).default(50),
    "an integer from 25 to 75",
    "50",
    "Milliseconds for which tokens and tool updates are joined for readers of the events' profile user.",
  ),
  CALL_WARN_SECONDS: setting(
    whole(1, 86400).default(300),
    "an integer from 1 to 86400",
    "300",
    "Seconds after which a tool or task that has not ended is logged, and counted by /metrics.",
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
  MAX_IMPORT_MB: setting(
    whole(1, 102400).default(256),
    "an integer from 1 to 102400",
    "256",
    "Largest exported thread, in MiB, that POST /threads/import takes.",
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
  WEBHOOK_SECRET: setting(
    optionalText.pipe(
      z
        .string()
        .regex(/^(whsec_)?[A-Za-z0-9+/]{32,88}={0,2}$/)
        .optional(),
    ),
    "base64 of 24 to 64 random bytes, with or without whsec_ before it",
    "",
    "Signs webhooks (Standard Webhooks), so that a receiver knows that they are from here. Empty: no signature.",
  ),
  WEBHOOK_ALLOW: setting(
    z
      .string()
      .default("")
      .transform((text) =>
        text
          .split(",")
          .map((entry) => entry.trim())
          .filter(Boolean),
      )
      .pipe(z.array(z.string().refine(isHostOrNetwork))),
    "a list of host names, IP addresses and networks such as 10.0.0.0/8, with commas",
    "",
    "Private and local receivers of webhooks: others than these are refused.",
  ),
  OPENALEX_URL: setting(
    optionalText.pipe(z.url({ protocol: /^https?$/ }).default("https://api.openalex.org")),
    "an http or https URL",
    "https://api.openalex.org",
    "Where the research agent finds OpenAlex, or what speaks as it does.",
  ),
  ARXIV_URL: setting(
    optionalText.pipe(z.url({ protocol: /^https?$/ }).default("https://export.arxiv.org")),
    "an http or https URL",
    "https://export.arxiv.org",
    "Where the research agent finds arXiv, or what speaks as it does.",
  ),
  LITERATURE_MAILTO: setting(
    optionalText.pipe(z.email().optional()),
    "an email address",
    "",
    "Named in the research agent's requests to OpenAlex and arXiv, so that they can write to somebody.",
  ),
  LANGGRAPH_CONFIG: setting(
    optionalText
      .transform((text, context) => {
        try {
          return JSON.parse(text ?? "{}");
        } catch {
          context.addIssue({ code: "custom", message: "is not JSON" });
          return z.NEVER;
        }
      })
      .pipe(graphSettings),
    '{"graph": {"configurable": {}, "context": {}}} as JSON',
    "",
    "Configuration and context that the graphs' own assistants start with, as JSON by graph name.",
  ),
  ALLOW_TRUNCATE: setting(
    z.stringbool().default(false),
    "true or false",
    "false",
    "Let POST /internal/truncate delete everything. For test suites only.",
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
    "Optional file with models, title, summarization, limits and research; see config.example.yaml.",
  ),
} satisfies Record<string, Setting>;

/** Settings that hold a password: their value is never printed. */
export const SECRET_SETTINGS: ReadonlySet<string> = new Set([
  "DATABASE_URL",
  "REDIS_URL",
  "API_KEYS",
  "OPENAI_API_KEY",
  "WEBHOOK_SECRET",
]);

export type Settings = { [K in keyof typeof SETTINGS]: z.output<(typeof SETTINGS)[K]["schema"]> };
export type Role = (typeof ROLES)[number];
export type SandboxSetting = (typeof SANDBOXES)[number];
export type LogLevel = (typeof LOG_LEVELS)[number];
