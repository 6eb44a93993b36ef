// Threads of the official PostgresSaver: taken over, and given back in its form. One transaction a thread; doing it
// again adds what is new and changes nothing else.
import { validate as isUuid, v5 as uuidV5 } from "uuid";
import { selectCheckpoints, selectWrites, type ThreadRows } from "../db/checkpoint-rows.sql.ts";
import type { Database, Queryable } from "../db/database.ts";
import { load } from "../db/serializer.ts";
import { toOwnVersions, toStockVersions } from "../db/stock-versions.ts";
import { copyCheckpoints, TransferError } from "./copy-checkpoints.ts";
import {
  describeImportedThread,
  hasUnfinishedRun,
  insertThread,
  lockThread,
  takeThread,
} from "./threads.sql.ts";

/** Where the official saver's tables are. */
export interface StockTables {
  readonly db: Database;
  readonly schema: string;
}

export interface Transferred {
  /** The thread's id on the other side. */
  readonly threadId: string;
  readonly checkpoints: number;
}

/** Names of threads that are no UUID become one, always the same. */
const NAMESPACE = "6b7d2f6e-5f0c-4b0e-9b1a-0f2d4c7a8e31";
const toThreadId = (name: string) => (isUuid(name) ? name : uuidV5(name, NAMESPACE));

/**
 * @param graphId the graph that the thread is shown with until it is run; kept when the thread has one
 * @throws TransferError, and then nothing was changed
 */
export function importThread(
  db: Database,
  stock: StockTables,
  { name, graphId }: { name: string; graphId?: string | undefined },
): Promise<Transferred> {
  const threadId = toThreadId(name);
  return inSnapshot(stock.db, (source) =>
    db.transaction(async (tx) => {
      await insertThread(tx, threadId, threadId === name ? {} : { imported_from: name });
      const from = { db: source, schema: stock.schema, threadId: name };
      return { threadId, checkpoints: await receiveCheckpoints(tx, from, threadId, graphId) };
    }),
  );
}

/**
 * Adds the checkpoints that the thread does not have yet.
 * @returns how many it were
 * @throws TransferError
 */
export async function receiveCheckpoints(
  tx: Queryable,
  from: ThreadRows,
  threadId: string,
  graphId?: string,
): Promise<number> {
  const to = { db: tx, schema: "heddle", threadId };
  await checkIdle(tx, threadId);
  // Whoever still writes the thread, a run that has lost its lease, writes nothing more.
  await takeThread(tx, threadId);
  const checkpoints = await copyCheckpoints(from, to, toOwnVersions);
  if (checkpoints > 0) {
    await describeImportedThread(tx, threadId, { graphId, interrupts: await readInterrupts(to) });
  }
  return checkpoints;
}

/** @throws TransferError, and then nothing was changed */
export function exportThread(db: Database, stock: StockTables, threadId: string): Promise<Transferred> {
  return inSnapshot(db, (source) =>
    stock.db.transaction(async (target) => {
      if (!isUuid(threadId)) throw new TransferError("Its id is not a UUID.");
      await checkIdle(source, threadId);
      const from = { db: source, schema: "heddle", threadId };
      await checkNewest(from);
      const to = { db: target, schema: stock.schema, threadId };
      return { threadId, checkpoints: await copyCheckpoints(from, to, toStockVersions) };
    }),
  );
}

/** All reads see one moment. */
const inSnapshot = <Result>(db: Database, read: (tx: Queryable) => Promise<Result>) =>
  db.transaction(async (tx) => {
    await tx.query("set transaction isolation level repeatable read");
    return read(tx);
  });

async function checkIdle(tx: Queryable, threadId: string): Promise<void> {
  const [thread] = await lockThread(tx, threadId);
  if (!thread) throw new TransferError("Heddle has no thread with this id.");
  if (await hasUnfinishedRun(tx, threadId)) {
    throw new TransferError("It has a run that is pending or running. Wait for it, or cancel it.");
  }
}

/** The official saver takes the checkpoint with the greatest id, a time of the worker's clock, for the newest. */
async function checkNewest(from: ThreadRows): Promise<void> {
  const byNamespace = Map.groupBy(await selectCheckpoints(from), (row) => row.checkpoint_ns);
  for (const rows of byNamespace.values()) {
    const ids = rows.map((row) => row.checkpoint_id);
    if (ids.at(-1) === ids.toSorted().at(-1)) continue;
    throw new TransferError(
      "The official saver would take another checkpoint for its newest one: it was restored, or made by a clock that was behind. Run the thread once more.",
    );
  }
}

/** Task id to its interrupts, of the newest checkpoint. */
async function readInterrupts(of: ThreadRows): Promise<Record<string, unknown[]>> {
  const newest = (await selectCheckpoints(of)).findLast((row) => row.checkpoint_ns === "");
  const writes = newest ? await selectWrites(of, [newest]) : [];
  return Object.fromEntries(
    writes
      .filter(({ channel }) => channel === "__interrupt__")
      .map(({ task_id, blob }) => [task_id, [load(blob.toString("utf8"))].flat()]),
  );
}
