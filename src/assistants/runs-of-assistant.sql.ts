// The statements on what an assistant has run, for the day it is deleted. There is no index for them: each run would pay
// for it, and that day is rare.
import type { Queryable } from "../db/database.ts";

export const MINUTES_MS = 300_000;
/** For the rest of the transaction: all runs are read to find those of the assistant. */
export const ALLOW_MINUTES = `set local statement_timeout = ${MINUTES_MS}`;

/** Threads that were last run with the assistant, in the order of their ids, after `after`. */
export const selectThreadsOfAssistant = (db: Queryable, assistantId: string, after: string, limit: number) =>
  db.query<{ thread_id: string }>(
    `select thread_id from heddle.threads
     where metadata @> jsonb_build_object('assistant_id', $1::text) and thread_id > $2::uuid
     order by thread_id limit $3::integer`,
    [assistantId, after, limit],
  );

/**
 * Takes the threads on which the assistant runs away from their workers, whose next write is refused. The thread rows
 * are locked before the runs, as a claim does, and in the order of their ids.
 */
export const takeThreadsOfAssistant = (db: Queryable, assistantId: string) =>
  db.query<{ thread_id: string }>(
    `with locked as (
       select t.thread_id from heddle.threads t
       where t.thread_id in (
         select r.thread_id from heddle.runs r where r.assistant_id = $1::uuid and r.finished_at is null
       )
       order by t.thread_id for update
     )
     update heddle.threads t set fencing_token = t.fencing_token + 1
     from locked where t.thread_id = locked.thread_id
     returning t.thread_id`,
    [assistantId],
  );

/** Unfinished ones only on threads that were taken. Their events go with them. */
export const deleteRunsOfAssistant = (db: Queryable, assistantId: string, takenThreads: readonly string[]) =>
  db.query<{ run_id: string }>(
    `delete from heddle.runs
     where assistant_id = $1::uuid and (finished_at is not null or thread_id = any ($2::uuid[]))
     returning run_id`,
    [assistantId, takenThreads],
  );

/** A thread whose unfinished runs are gone is idle. */
export const settleThreads = (db: Queryable, threadIds: readonly string[]) =>
  db.query(
    `update heddle.threads t set status = 'idle', updated_at = clock_timestamp()
     where t.thread_id = any ($1::uuid[]) and t.status = 'busy'
       and not exists (
         select 1 from heddle.runs r where r.thread_id = t.thread_id and r.finished_at is null
       )`,
    [threadIds],
  );
