// Removes what has had its time: expired threads, what deleted ones have left, and the events of runs that ended long ago.
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import { isAppError } from "../errors.ts";
import { expireEvents } from "../events/expire-events.ts";
import { selectExpiredThreads } from "../threads/removal.sql.ts";
import { removeLeftovers } from "../threads/remove-leftovers.ts";
import type { Threads } from "../threads/threads.ts";
import type { Runs } from "./runs.ts";

const INTERVAL_MS = 60_000;
const BATCH = 100;

interface SweepDeps {
  readonly db: Database;
  readonly runs: Pick<Runs, "deleteThread">;
  readonly threads: Pick<Threads, "keepLatest">;
}

interface SweepOptions extends SweepDeps {
  readonly removeFiles: (threadId: string) => Promise<void>;
  /** Seconds after a run's end until its events are deleted. */
  readonly eventRetentionSeconds: number;
  /** What else is kept for a time. */
  readonly expireOthers: () => Promise<void>;
  readonly log: Logger;
}

/** Sweeps now and then until the returned function is called. Several processes may sweep at the same time. */
export function startSweeping(options: SweepOptions): () => void {
  const { db, eventRetentionSeconds, expireOthers, log } = options;
  let sweeping = false;
  const sweepAll = async () => {
    // One that takes longer than the interval is not overtaken.
    if (sweeping) return;
    sweeping = true;
    await sweep(options).catch((error: unknown) => log.error(error, "expired threads could not be removed"));
    await removeLeftovers(db, options.removeFiles).catch((error: unknown) =>
      log.error(error, "what deleted threads have left could not be removed"),
    );
    await expireEvents(db, eventRetentionSeconds).catch((error: unknown) =>
      log.error(error, "expired events could not be deleted"),
    );
    await expireOthers().catch((error: unknown) =>
      log.error(error, "expired states of conversations could not be deleted"),
    );
    sweeping = false;
  };
  const timer = setInterval(() => void sweepAll(), INTERVAL_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** Removes a batch of expired threads, or all but their newest state; returns how many there were. */
export async function sweep({ db, runs, threads }: SweepDeps): Promise<number> {
  const expired = await selectExpiredThreads(db, BATCH);
  for (const { thread_id, strategy } of expired) {
    const done =
      strategy === "keep_latest"
        ? threads.keepLatest(thread_id, { isExpired: true })
        : runs.deleteThread(thread_id, { isExpired: true });
    await done.catch((error: unknown) => {
      // Another process was faster, or the thread has come to life again.
      if (!isAppError(error, "thread_not_found")) throw error;
    });
  }
  return expired.length;
}
