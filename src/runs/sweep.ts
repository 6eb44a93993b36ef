// Removes what has had its time: the threads of stateless runs, and the events of runs that ended long ago.
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import { isAppError } from "../errors.ts";
import { expireEvents } from "../events/expire-events.ts";
import { selectExpiredThreads } from "../threads/threads.sql.ts";
import type { Runs } from "./runs.ts";

const INTERVAL_MS = 60_000;
const BATCH = 100;

interface SweepOptions {
  readonly db: Database;
  readonly runs: Runs;
  /** Seconds after a run's end until its events are deleted. */
  readonly eventRetentionSeconds: number;
  readonly log: Logger;
}

/** Sweeps now and then until the returned function is called. Several processes may sweep at the same time. */
export function startSweeping({ db, runs, eventRetentionSeconds, log }: SweepOptions): () => void {
  let sweeping = false;
  const sweepAll = async () => {
    // One that takes longer than the interval is not overtaken.
    if (sweeping) return;
    sweeping = true;
    await sweep(db, runs).catch((error: unknown) => log.error(error, "expired threads could not be removed"));
    await expireEvents(db, eventRetentionSeconds).catch((error: unknown) =>
      log.error(error, "expired events could not be deleted"),
    );
    sweeping = false;
  };
  const timer = setInterval(() => void sweepAll(), INTERVAL_MS);
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
