// Removes what deleted threads and runs have left, in batches that each end long before PostgreSQL would end them.
// Stopped at any point, it goes on where it was, here or in another process.
import type { Database } from "../db/database.ts";
import { isAppError } from "../errors.ts";
import {
  deleteCheckpointRows,
  deleteEventRows,
  forgetRun,
  forgetThread,
  selectLeftovers,
} from "./removal.sql.ts";

/** Rows of each table in one statement. A value of a channel may be large. */
const ROWS = 1_000;
/** Threads and runs that are looked at in one go. */
const MATTERS = 100;

/** All that a deleted thread has left, but the events of its runs. */
export async function removeLeftoversOf(db: Database, threadId: string): Promise<void> {
  while ((await deleteCheckpointRows(db, threadId, ROWS)) > 0);
  await forgetThread(db, threadId);
}

/** What any of them has left. */
export async function removeLeftovers(
  db: Database,
  removeFiles: (threadId: string) => Promise<void>,
): Promise<void> {
  for (const { thread_id, run_id } of await selectLeftovers(db, MATTERS)) {
    if (thread_id !== null) {
      try {
        await removeFiles(thread_id);
      } catch (error) {
        // Another storage has something of it and is away: the others do not wait for that.
        if (isAppError(error, "storage_unavailable")) continue;
        throw error;
      }
      await removeLeftoversOf(db, thread_id);
    }
    if (run_id !== null) {
      while ((await deleteEventRows(db, run_id, ROWS)) > 0);
      await forgetRun(db, run_id);
    }
  }
}
