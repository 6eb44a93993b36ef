// The statements that remove threads. A thread is gone when its row is; what it held is then removed in batches, by
// whoever comes along: each statement takes what nobody else is at.
import type { Queryable } from "../db/database.ts";

/** Threads whose time is over, with nothing that runs. */
export const selectExpiredThreads = (db: Queryable, limit: number) =>
  db.query<{ thread_id: string; strategy: "delete" | "keep_latest" }>(
    `select thread_id, ttl_strategy as strategy from heddle.threads t
     where delete_after < now()
       and not exists (select 1 from heddle.runs r where r.thread_id = t.thread_id and r.finished_at is null)
     order by delete_after limit $1::integer`,
    [limit],
  );

/**
 * Deletes the thread and its runs; their checkpoints and events are now nobody's. With `isExpired`, only if its time is
 * still over and nothing runs: for a caller that holds the row's lock.
 */
export const deleteThreadRow = (db: Queryable, threadId: string, isExpired: boolean) =>
  db.query<{ thread_id: string }>(
    `with gone as (
       delete from heddle.threads t
       where t.thread_id = $1::uuid
         and (not $2::boolean or (t.delete_after < clock_timestamp() and not exists (
           select 1 from heddle.runs r where r.thread_id = t.thread_id and r.finished_at is null
         )))
       returning t.thread_id
     )
     insert into heddle.deleted_threads (thread_id) select thread_id from gone
     on conflict do nothing returning thread_id`,
    [threadId, isExpired],
  );

export const selectLeftovers = (db: Queryable, limit: number) =>
  db.query<{ thread_id: string | null; run_id: string | null }>(
    `(select thread_id, null::uuid as run_id from heddle.deleted_threads limit $1::integer)
     union all (select null, run_id from heddle.deleted_runs limit $1::integer)`,
    [limit],
  );

/** `skip locked`: two processes that delete the same rows in different orders would wait for each other. */
const deleteSome = (table: string, column: string) => `
  delete from heddle.${table} where ctid = any (array(
    select ctid from heddle.${table} where ${column} limit $2::integer for update skip locked
  )) returning 1`;

/** Removes a part of what a deleted thread has left; says how many rows it were. */
export async function deleteCheckpointRows(db: Queryable, threadId: string, limit: number): Promise<number> {
  const [row] = await db.query<{ count: string }>(
    `with writes as (${deleteSome("checkpoint_writes", "thread_id = $1::text")}),
     blobs as (${deleteSome("checkpoint_blobs", "thread_id = $1::text")}),
     checkpoints as (${deleteSome("checkpoints", "thread_id = $1::text")})
     select (select count(*) from writes) + (select count(*) from blobs) + (select count(*) from checkpoints) as count`,
    [threadId, limit],
  );
  return Number(row?.count ?? 0);
}

/** Closes the matter of a thread of which nothing is left: its id may be given again. */
export const forgetThread = (db: Queryable, threadId: string) =>
  db.query(
    `delete from heddle.deleted_threads d
     where d.thread_id = $1::uuid
       and not exists (select 1 from heddle.checkpoints c where c.thread_id = d.thread_id::text)
       and not exists (select 1 from heddle.checkpoint_blobs b where b.thread_id = d.thread_id::text)
       and not exists (select 1 from heddle.checkpoint_writes w where w.thread_id = d.thread_id::text)`,
    [threadId],
  );

/** Removes a part of what a deleted run has left; says how many rows it were. */
export async function deleteEventRows(db: Queryable, runId: string, limit: number): Promise<number> {
  const rows = await db.query(deleteSome("run_events", "run_id = $1::uuid"), [runId, limit]);
  return rows.length;
}

export const forgetRun = (db: Queryable, runId: string) =>
  db.query(
    `delete from heddle.deleted_runs d
     where d.run_id = $1::uuid and not exists (select 1 from heddle.run_events e where e.run_id = d.run_id)`,
    [runId],
  );
