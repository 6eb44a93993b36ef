// The statements that stop runs, and say what a thread is after that.
import type { Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { storableJson } from "../db/storable-json.ts";
import { toWireJson } from "../events/wire-json.ts";
import { type CancelAction, ofThreadInScope, type RunStatus } from "./runs.sql.ts";

/** Ends runs that nobody has started. */
export const interruptPending = (db: Queryable, runIds: readonly string[], reason: string) =>
  db.query<{ run_id: string }>(
    `update heddle.runs set status = 'interrupted', cancel_reason = $2::text, updated_at = clock_timestamp()
     where run_id = any ($1::uuid[]) and status = 'pending' returning run_id`,
    [runIds, reason],
  );

export const deletePending = (db: Queryable, runIds: readonly string[]) =>
  db.query<{ run_id: string }>(
    "delete from heddle.runs where run_id = any ($1::uuid[]) and status = 'pending' returning run_id",
    [runIds],
  );

/** Tells the worker that has a run to stop it; it reads this when it renews its lease at the latest. */
export const requestCancel = (
  db: Queryable,
  runIds: readonly string[],
  action: CancelAction,
  reason: string,
) =>
  db.query<{ run_id: string }>(
    `update heddle.runs set cancel_action = $2::text, cancel_reason = $3::text
     where run_id = any ($1::uuid[]) and status = 'running' returning run_id`,
    [runIds, action, reason],
  );

/** After a run is gone as if it had never been: the thread is what it was before, unless another run waits. */
export const settleThread = (db: Queryable, threadId: string) =>
  db.query(
    `update heddle.threads t
     set updated_at = clock_timestamp(), status = case
       when t.interrupts <> '{}' then 'interrupted' when t.error is not null then 'error' else 'idle' end
     where t.thread_id = $1::uuid and t.status = 'busy'
       and not exists (
         select 1 from heddle.runs r where r.thread_id = t.thread_id and r.finished_at is null
       )`,
    [threadId],
  );

/** A thread's state has changed without a run: what it says of it now, if it still is at `version`. */
export const describeThread = (
  db: Queryable,
  thread: { threadId: string; version: string; interrupts: object },
) =>
  db.query(
    `update heddle.threads
     set interrupts = $3::jsonb, error = null, updated_at = clock_timestamp(),
       status = case when $3::jsonb = '{}' then 'idle' else 'interrupted' end
     where thread_id = $1::uuid and xmin::text = $2::text and status <> 'busy'`,
    [thread.threadId, thread.version, storableJson(toWireJson(thread.interrupts))],
  );

/** Unfinished runs, or those that are named, of threads in `scope`, in the order in which they were taken. */
export const selectStoppable = (
  db: Queryable,
  wanted: {
    threadId?: string | undefined;
    runIds?: readonly string[] | undefined;
    status?: RunStatus | undefined;
  },
  scope: Scope,
) =>
  db.query<{ thread_id: string; run_id: string }>(
    `select thread_id, run_id from heddle.runs r
     where ${wanted.runIds ? "run_id = any ($2::uuid[])" : "finished_at is null and $2::uuid[] is null"}
       and ($1::uuid is null or thread_id = $1::uuid) and ($3::text is null or status = $3::text)
       and ${ofThreadInScope(4)}
     -- The newest first: stopping a run must not start the one that waits for its end.
     order by run_number desc`,
    [wanted.threadId, wanted.runIds, wanted.status, scope],
  );
