// Deletes the events of runs that ended long ago, in batches. Several processes may do it at the same time, and one that
// dies in the middle leaves nothing that the next one does not find.
import type { Database } from "../db/database.ts";
import { deleteEvents, markDeleted, markExpired, selectExpired } from "./expiry.sql.ts";

/** Runs of one statement. */
const RUNS = 100;
/** Events of one statement: each commits within a moment, however long a run's log is. */
const EVENTS = 5_000;

/** Returns how many runs have no events any more. */
export async function expireEvents(db: Database, retentionSeconds: number): Promise<number> {
  while ((await markExpired(db, retentionSeconds, RUNS)).length === RUNS);
  let done = 0;
  for (;;) {
    const runIds = (await selectExpired(db, retentionSeconds, RUNS)).map((run) => run.run_id);
    if (runIds.length === 0) return done;
    while ((await deleteEvents(db, runIds, EVENTS)).length === EVENTS);
    const closed = await markDeleted(db, runIds);
    done += closed.length;
    // What is left is in another process's hands.
    if (closed.length === 0) return done;
  }
}
