// Reads a run's events from any point to its end: from memory while reader and worker share the process, from the
// log otherwise. A wake-up is a hint; the log is the truth.
import type { Database } from "../db/database.ts";
import { type EventRow, selectEventsAfter, selectLastSeq, selectRunStatus } from "./event-log.sql.ts";
import type { Hub } from "./hub.ts";

/** Milliseconds until the log is asked without a wake-up: how late a reader in another process may be. */
const POLL_MS = 500;
const PAGE = 500;
const FINISHED = new Set(["success", "error", "timeout", "interrupted"]);

export interface FollowOptions {
  /** The last seq the reader has; -1 reads from the start, undefined only what comes from now on. */
  readonly after?: number;
  /** The run was taken by this process a moment ago: there is nothing to read yet. */
  readonly isNew?: boolean;
  readonly signal?: AbortSignal;
}

/**
 * Yields each event once, in order, in pages as they come; returns when the run has ended and all is read.
 * A run that is gone (its thread was deleted) returns as well.
 */
export async function* follow(
  { db, hub }: { db: Database; hub: Hub },
  runId: string,
  { after, isNew = false, signal }: FollowOptions,
): AsyncGenerator<readonly EventRow[]> {
  // Before the first read: an event that is committed between the read and the subscription would be missed.
  const subscription = hub.subscribe(runId);
  try {
    let last = after ?? (await selectLastSeq(db, runId));
    if (isNew) await subscription.changed(POLL_MS, signal);
    while (!signal?.aborted) {
      const fromMemory = subscription.take().filter((event) => event.seq > last);
      if (fromMemory[0]?.seq === last + 1) {
        last = fromMemory.at(-1)?.seq ?? last;
        yield fromMemory;
        continue;
      }
      if (subscription.endsAt() === last) return;
      // The status first: events that a finished run has are all there when the log is read after it.
      const [run] = await selectRunStatus(db, runId);
      const fromLog = await selectEventsAfter(db, runId, last, PAGE);
      if (fromLog.length > 0) {
        last = fromLog.at(-1)?.seq ?? last;
        yield fromLog;
        continue;
      }
      if (!run || FINISHED.has(run.status)) return;
      await subscription.changed(POLL_MS, signal);
    }
  } finally {
    subscription.close();
  }
}
