// Removes the threads of stateless runs when their time is over.
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import { isAppError } from "../errors.ts";
import { selectExpiredThreads } from "../threads/threads.sql.ts";
import type { Runs } from "./runs.ts";

const INTERVAL_MS = 60_000;
const BATCH = 100;

/** Sweeps now and then until the returned function is called. Several processes may sweep at the same time. */
export function startSweeping({ db, runs, log }: { db: Database; runs: Runs; log: Logger }): () => void {
  const timer = setInterval(() => {
    sweep(db, runs).catch((error: unknown) => log.error(error, "expired threads could not be removed"));
  }, INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Removes a batch of expired threads; returns how many there were. */
export async function sweep(db: Database, runs: Pick<Runs, "deleteThread">): Promise<number> {
  const expired = await selectExpiredThreads(db, BATCH);
  for (const { thread_id } of expired) {
    await runs.deleteThread(thread_id).catch((error: unknown) => {
      // Another process was faster.
      if (!isAppError(error, "thread_not_found")) throw error;
    });
  }
  return expired.length;
}
