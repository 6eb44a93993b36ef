// Whether a server searches with pgvector: when its database has the extension, or it may make it. And the index that it
// then needs, which one server at a time builds while all go on.
import type { Logger } from "pino";
import type { Database, Queryable } from "../db/database.ts";
import {
  allowBuild,
  createExtension,
  createNearIndex,
  dropNearIndex,
  lockSetup,
  type Near,
  selectExtension,
  selectNearIndex,
  tryExtension,
  tryLockBuild,
} from "./pgvector.sql.ts";

/** Its indexes take no more. */
const MAX_DIMS = 4_000;
/** A timer cannot wait longer. */
const BUILD_TIMEOUT_MS = 2 ** 31 - 1;

/** Undefined: the server searches by itself. Never throws: a store without pgvector finds the same. */
export async function findPgvector(db: Database, dims: number, log: Logger): Promise<Near | undefined> {
  const exact = (reason: string, err?: unknown) => {
    log.info({ reason, ...(err ? { err } : {}) }, "the store searches without pgvector");
    return undefined;
  };
  if (dims > MAX_DIMS) return exact(`it indexes no more than ${MAX_DIMS} dimensions`);
  try {
    const found = await db.transaction(async (tx) => {
      await lockSetup(tx);
      const [extension] = await selectExtension(tx);
      if (!extension || extension.installed !== null || !isNewEnough(extension.available)) return extension;
      await createExtension(tx);
      return (await selectExtension(tx))[0];
    });
    if (!found) return exact("this PostgreSQL does not have it");
    const { schema, installed } = found;
    if (schema === null || !isNewEnough(installed)) {
      return exact(`its version is ${installed ?? found.available}, and 0.8 is needed`);
    }
    await tryExtension(db, schema);
    log.info({ version: installed }, "the store searches with pgvector");
    return { schema, dims };
  } catch (error) {
    return exact("it cannot be used", error);
  }
}

/** From 0.8 on an index is asked on and on till enough of what it gives is meant. */
function isNewEnough(version: string | null): boolean {
  const [major = 0, minor = 0] = (version ?? "").split(".").map(Number);
  return major > 0 || minor >= 8;
}

interface BuildOptions {
  readonly db: Database;
  readonly near: Near;
  readonly log: Logger;
  /** When it aborts, PostgreSQL builds on alone. */
  readonly signal: AbortSignal;
}

/** Builds the index unless it is there, or another server is at it. Takes minutes where there are many vectors. */
export async function buildNearIndex({ db, near, log, signal }: BuildOptions): Promise<void> {
  const [found] = await selectNearIndex(db, near);
  if (found?.valid || signal.aborted) return;
  const client = await db.pool.connect();
  const connection: Queryable = {
    async query(text, values = []) {
      const statement = { text, values: [...values], query_timeout: BUILD_TIMEOUT_MS };
      return (await client.query(statement)).rows;
    },
  };
  const build = async () => {
    const [lock] = await tryLockBuild(connection);
    if (!lock?.locked) return;
    const [left] = await selectNearIndex(connection, near);
    if (left?.valid) return;
    const begun = performance.now();
    log.info({ dims: near.dims }, "the index of the store's vectors is being built");
    await allowBuild(connection);
    if (left) await dropNearIndex(connection, near);
    await createNearIndex(connection, near);
    log.info({ ms: Math.round(performance.now() - begun) }, "the index of the store's vectors is built");
  };
  const { promise: aborted, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  const building = build();
  // What fails after the abort is the connection.
  building.catch(() => undefined);
  try {
    await Promise.race([building, aborted]);
  } finally {
    // Not given back: its settings and its lock end with it.
    client.release(true);
  }
}
