// The message stores that there are, by name: PostgreSQL and memory always, Redis with REDIS_URL, and the project's own
// (`message_stores` of langgraph.json).
import path from "node:path";
import type { Logger } from "pino";
import type { Database, Queryable } from "../db/database.ts";
import { AppError, StartupError } from "../errors.ts";
import type { Importer } from "../graphs/importer.ts";
import type { ChatMessageStore } from "../kit/chat-message-store.ts";
import { createMemoryMessageStores } from "../kit/memory-message-stores.ts";
import type { Fence, SessionKey } from "./messages.sql.ts";
import { createPostgresMessageStore } from "./postgres-message-store.ts";
import { createRedisMessageStores } from "./redis-message-store.ts";

export interface MessageStores {
  /** Where a session is kept that does not say. */
  readonly byDefault: string;
  /** @throws AppError message_store_not_found */
  check(name: string): void;
  /** A new store of that session alone. @throws AppError message_store_not_found, message_store_unavailable */
  open(name: string, key: SessionKey, fence?: Fence): Promise<ChatMessageStore>;
  close(): Promise<void>;
}

/** `sessions` of config.yaml. */
interface SessionOptions {
  readonly store: string;
  readonly max_messages?: number | undefined;
  readonly ttl_hours: number;
  readonly memory_mb: number;
}

interface StoreDeps {
  readonly db: Database;
  /** Waits for a database that is away: for what runs write. */
  readonly patient: Queryable;
  readonly redisUrl: string | undefined;
  readonly settings: SessionOptions;
  /** By name, `./file.ts:export` as seen from `folder`. */
  readonly own: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly importer: Pick<Importer, "import">;
  readonly log: Logger;
}

/** What a project's own export is called with; both in one text, as document 003 §3.2 writes it, is `thread_id`. */
interface OwnStoreOptions {
  readonly thread_id: string;
  readonly owner: string;
  readonly session_id: string;
}

type Open = (key: SessionKey, fence: Fence | undefined) => ChatMessageStore | Promise<ChatMessageStore>;

/** @throws StartupError when the default is none of them, or one of the project's own cannot be loaded */
export async function createMessageStores(deps: StoreDeps): Promise<MessageStores> {
  const { db, patient, redisUrl, settings, log } = deps;
  const { max_messages: maxMessages, ttl_hours: hours } = settings;
  const inMemory = createMemoryMessageStores({
    ttlMs: hours * 3_600_000,
    maxCharacters: settings.memory_mb * 1024 * 1024,
    maxMessages,
  });
  const redis = redisUrl
    ? createRedisMessageStores({ url: redisUrl, maxMessages, ttlSeconds: Math.ceil(hours * 3_600), log })
    : undefined;
  const ofRun = { query: patient.query, transaction: db.transaction };
  const stores = new Map<string, Open>([
    [
      "postgres",
      (key, fence) => createPostgresMessageStore({ db: fence ? ofRun : db, maxMessages, fence }, key),
    ],
    ["memory", (key) => inMemory(toThreadId(key))],
    ...(redis ? [["redis", (key: SessionKey) => redis.open(toThreadId(key))] as const] : []),
  ]);
  for (const [name, reference] of Object.entries(deps.own)) {
    if (["postgres", "memory", "redis"].includes(name))
      throw broken(name, reference, "Heddle has one of that name");
    stores.set(name, await importStore(deps, name, reference));
  }
  const find = (name: string) => {
    const open = stores.get(name);
    if (open) return open;
    throw new AppError(
      "message_store_not_found",
      `There is no message store "${name}"; there is ${[...stores.keys()].join(", ")}.`,
    );
  };
  if (!stores.has(settings.store)) {
    throw new StartupError(
      `sessions.store of config.yaml is "${settings.store}", but there is only ${[...stores.keys()].join(", ")}.`,
      { next: settings.store === "redis" ? "Set REDIS_URL." : "Name one of them." },
    );
  }
  return {
    byDefault: settings.store,
    check: (name) => void find(name),
    open: async (name, key, fence) => find(name)(key, fence),
    close: async () => redis?.close(),
  };
}

/** No two sessions have the same, whatever is in the names. */
const toThreadId = ({ owner, sessionId }: SessionKey) =>
  `user:${encodeURIComponent(owner)}:session:${encodeURIComponent(sessionId)}`;

async function importStore({ importer, folder }: StoreDeps, name: string, reference: string): Promise<Open> {
  const [, file = "", exportName = ""] = /^(.+):(\w+)$/.exec(reference) ?? [];
  if (file === "") throw broken(name, reference, "it is not ./file.ts:export");
  const module = await importer.import(path.resolve(folder, file)).catch((error: unknown) => {
    throw broken(name, reference, `it cannot be loaded: ${error instanceof Error ? error.message : error}`);
  });
  const open = module[exportName];
  if (typeof open !== "function") throw broken(name, reference, `the file exports no function ${exportName}`);
  return async (key) => {
    const options: OwnStoreOptions = {
      thread_id: toThreadId(key),
      owner: key.owner,
      session_id: key.sessionId,
    };
    try {
      return await open(options);
    } catch (cause) {
      throw new AppError("message_store_unavailable", `The message store "${name}" could not be opened.`, {
        cause,
      });
    }
  };
}

const broken = (name: string, reference: string, problem: string) =>
  new StartupError(`message_stores.${name} of langgraph.json is "${reference}", but ${problem}.`, {
    next: "Mend that line, or leave it out.",
  });
