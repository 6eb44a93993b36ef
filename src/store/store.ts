// The store of a server: views of it for whoever may see some of it, and the work that keeps it: what has expired is
// deleted, what has no vectors gets them.
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import type { Importer } from "../graphs/importer.ts";
import { embedStale } from "./embed-stale.ts";
import { createEmbedder } from "./embedder.ts";
import { deleteExpired } from "./items.sql.ts";
import type { Near } from "./pgvector.sql.ts";
import { buildNearIndex, findPgvector } from "./pgvector.ts";
import { PostgresStore, type StoreView, type Ttl } from "./postgres-store.ts";
import { rankExactly } from "./rank.ts";
import { rankNear } from "./rank-near.ts";
import { createSemanticIndex, type SemanticIndex } from "./semantic-index.ts";
import { chooseIndex } from "./vectors.sql.ts";

export interface Store {
  /** The store as this holder sees it. */
  open(view: StoreView): PostgresStore;
  /** What searches by similarity; null: nothing does. */
  readonly search: "pgvector" | "exact" | null;
  /** Keeps the store until the returned function is called, which waits for work under way. */
  startKeeping(): () => Promise<void>;
}

/** `store` of langgraph.json. */
interface StoreSettings {
  readonly index?:
    | { readonly dims: number; readonly embed: string; readonly fields?: readonly string[] | undefined }
    | undefined;
  readonly ttl?:
    | {
        /** Minutes. */
        readonly default_ttl?: number | undefined;
        readonly sweep_interval_minutes?: number | undefined;
        readonly refresh_on_read?: boolean | undefined;
      }
    | undefined;
}

interface StoreOptions {
  readonly db: Database;
  readonly settings: StoreSettings;
  /** The langgraph.json: relative paths start at its folder. */
  readonly file: string;
  readonly importer: Pick<Importer, "import">;
  readonly openai: { readonly apiKey?: string | undefined; readonly baseUrl?: string | undefined };
  readonly log: Logger;
}

const DEFAULT_SWEEP_MINUTES = 5;
const INDEX_INTERVAL_MS = 60_000;
const SWEEP_BATCH = 1_000;

/** @throws StartupError when `store.index.embed` cannot be used */
export async function createStore({
  db,
  settings,
  file,
  importer,
  openai,
  log,
}: StoreOptions): Promise<Store> {
  const near = settings.index ? await findPgvector(db, settings.index.dims, log) : undefined;
  const index = await createIndex({ db, settings, file, importer, openai, near });
  const ttl: Ttl = {
    defaultMinutes: settings.ttl?.default_ttl ?? null,
    refreshOnRead: settings.ttl?.refresh_on_read ?? true,
  };
  return {
    open: (view) => new PostgresStore({ db, index, ttl }, view),
    search: index ? (near ? "pgvector" : "exact") : null,
    startKeeping() {
      const stopping = new AbortController();
      const minutes = settings.ttl?.sweep_interval_minutes ?? DEFAULT_SWEEP_MINUTES;
      const jobs = [
        startRepeating(minutes * 60_000, () => sweepStore(db), log, "the store could not be swept"),
        ...(index
          ? [
              startRepeating(
                INDEX_INTERVAL_MS,
                () => embedStale({ db, index, log, signal: stopping.signal }),
                log,
                "items of the store could not be embedded",
              ),
            ]
          : []),
        ...(near
          ? [
              startRepeating(
                INDEX_INTERVAL_MS,
                () => buildNearIndex({ db, near, log, signal: stopping.signal }),
                log,
                "the index of the store's vectors could not be built",
              ),
            ]
          : []),
      ];
      return async () => {
        stopping.abort();
        await Promise.all(jobs.map((stop) => stop()));
      };
    },
  };
}

/** Deletes all that has expired. Several servers may do so at the same time. */
export async function sweepStore(db: Database): Promise<void> {
  while ((await deleteExpired(db, SWEEP_BATCH)).length === SWEEP_BATCH);
}

async function createIndex({
  db,
  settings,
  file,
  importer,
  openai,
  near,
}: Omit<StoreOptions, "log"> & { readonly near: Near | undefined }): Promise<SemanticIndex | undefined> {
  if (!settings.index) return undefined;
  const { dims, embed, fields = ["$"] } = settings.index;
  const embedder = await createEmbedder({ embed, dims, file, importer, openai });
  const [chosen] = await chooseIndex(db, JSON.stringify({ embed, dims, fields }));
  if (!chosen) throw new Error("the index was not chosen");
  return createSemanticIndex({
    id: chosen.index_id,
    fields,
    embedder,
    rank: near ? rankNear(near) : rankExactly,
  });
}

/** At once, and then after each interval; never twice at a time. */
function startRepeating(
  intervalMs: number,
  work: () => Promise<void>,
  log: Logger,
  failure: string,
): () => Promise<void> {
  let working: Promise<void> | undefined;
  const repeat = () => {
    working ??= work()
      .catch((error: unknown) => log.error(error, failure))
      .finally(() => {
        working = undefined;
      });
  };
  repeat();
  // A timer cannot wait longer than this.
  const timer = setInterval(repeat, Math.min(intervalMs, 2 ** 31 - 1));
  timer.unref();
  return async () => {
    clearInterval(timer);
    await working;
  };
}
