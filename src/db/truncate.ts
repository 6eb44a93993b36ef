// Deletes everything of some kinds, for test suites that want to start from nothing (POST /internal/truncate).
import type { Database } from "./database.ts";

export interface Truncation {
  readonly runs?: boolean | undefined;
  readonly threads?: boolean | undefined;
  readonly assistants?: boolean | undefined;
  readonly checkpointer?: boolean | undefined;
  readonly store?: boolean | undefined;
}

const LOCK_THREADS = "select thread_id from heddle.threads order by thread_id for update";

/** In this order: threads go, or get new tokens, before what their workers may still write. */
const STATEMENTS: Record<keyof Truncation, readonly string[]> = {
  threads: [
    LOCK_THREADS,
    `with gone as (delete from heddle.threads returning thread_id)
     insert into heddle.deleted_threads (thread_id) select thread_id from gone
     on conflict do nothing returning thread_id`,
  ],
  runs: [
    LOCK_THREADS,
    "update heddle.threads set fencing_token = fencing_token + 1, status = 'idle' where status = 'busy'",
    "delete from heddle.run_events",
    "delete from heddle.runs",
    "delete from heddle.deleted_runs",
    "delete from heddle.webhooks",
    "delete from heddle.crons",
  ],
  assistants: ["delete from heddle.assistants where not system"],
  checkpointer: [
    "delete from heddle.checkpoint_writes",
    "delete from heddle.checkpoint_blobs",
    "delete from heddle.checkpoints",
    "delete from heddle.deleted_threads",
  ],
  store: ["delete from heddle.store_items"],
};

/** Deletes what is true in `what`, all of it or nothing. `forgetThread` gets each thread that is gone. */
export async function truncate(
  { db, forgetThread }: { db: Database; forgetThread: (threadId: string) => Promise<void> },
  what: Truncation,
): Promise<void> {
  const kinds = (Object.keys(STATEMENTS) as (keyof Truncation)[]).filter((kind) => what[kind]);
  const gone = await db.transaction(async (tx) => {
    let threads: { thread_id: string }[] = [];
    for (const kind of kinds) {
      for (const statement of STATEMENTS[kind]) {
        const rows = await tx.query<{ thread_id: string }>(statement);
        if (kind === "threads") threads = rows;
      }
    }
    return threads;
  });
  for (const { thread_id } of gone) await forgetThread(thread_id);
}
