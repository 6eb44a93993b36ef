// The statements on runs. Claiming and finishing are functions of the schema (migrations/0001_initial.sql).
import type { Queryable } from "../db/database.ts";
import type { RunKwargs } from "./run-kwargs.ts";

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
export type MultitaskStrategy = "reject" | "enqueue" | "interrupt" | "rollback";
export type CancelAction = "interrupt" | "rollback";

export interface RunError {
  readonly error: string;
  readonly message: string;
}

export interface RunRow {
  readonly run_id: string;
  readonly thread_id: string;
  readonly assistant_id: string;
  readonly status: RunStatus;
  readonly kwargs: RunKwargs;
  readonly metadata: Record<string, unknown>;
  readonly multitask_strategy: MultitaskStrategy;
  readonly error: RunError | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** A run in the hands of a worker. */
export interface ClaimedRun extends RunRow {
  readonly fencing_token: string;
  readonly attempt: number;
}

const COLUMNS =
  "run_id, thread_id, assistant_id, status, kwargs, metadata, multitask_strategy, error, created_at, updated_at";

export async function claimRun(
  db: Queryable,
  options: { owner: string; leaseSeconds: number; maxCrashes: number },
): Promise<ClaimedRun | undefined> {
  const [run] = await db.query<ClaimedRun>(
    `select ${COLUMNS}, fencing_token, attempt
     from heddle.claim_run($1::text, make_interval(secs => $2::double precision), $3::integer)`,
    [options.owner, options.leaseSeconds, options.maxCrashes],
  );
  return run;
}

/**
 * Renews leases; a run that does not come back is another worker's now. The rows are locked in the order of the ids, as
 * `insertEvents` does: otherwise the two can wait for each other.
 */
export const renewLeases = (
  db: Queryable,
  runs: readonly { runId: string; token: string }[],
  leaseSeconds: number,
) =>
  db.query<{ run_id: string; cancel_action: CancelAction | null }>(
    `with mine as (
       select r.run_id
       from heddle.runs r
       join unnest($1::uuid[], $2::bigint[]) as m (run_id, token) on r.run_id = m.run_id and r.fencing_token = m.token
       where r.status = 'running'
       order by r.run_id for no key update of r
     )
     update heddle.runs r
     set lease_until = clock_timestamp() + make_interval(secs => $3::double precision)
     from mine where r.run_id = mine.run_id
     returning r.run_id, r.cancel_action`,
    [runs.map((run) => run.runId), runs.map((run) => run.token), leaseSeconds],
  );

/** Gives a run back to the queue. */
export const releaseRun = (db: Queryable, runId: string, token: string) =>
  db.query(
    `update heddle.runs
     set status = 'pending', lease_owner = null, lease_until = null, updated_at = clock_timestamp()
     where run_id = $1::uuid and fencing_token = $2::bigint and status = 'running'`,
    [runId, token],
  );

export interface FinishedRun {
  readonly runId: string;
  readonly token: string;
  readonly status: RunStatus;
  readonly error: RunError | null;
  readonly threadStatus: "idle" | "interrupted" | "error";
  readonly interrupts: Record<string, unknown>;
  /** Seconds until the thread of a stateless run is deleted; null keeps it. */
  readonly keepSeconds: number | null;
  readonly events: readonly { seq: number; event: string; data: string }[];
}

/** False when another worker has the run. */
export async function finishRun(db: Queryable, run: FinishedRun): Promise<boolean> {
  const [row] = await db.query<{ done: boolean }>(
    `select heddle.finish_run(
       $1::uuid, $2::bigint, $3::text, $4::json, $5::text, $6::text, $7::jsonb, $8::integer,
       $9::integer[], $10::text[], $11::text[]
     ) as done`,
    [
      run.runId,
      run.token,
      run.status,
      run.error === null ? null : JSON.stringify(run.error),
      run.threadStatus,
      run.error?.message ?? null,
      JSON.stringify(run.interrupts),
      run.keepSeconds,
      run.events.map((event) => event.seq),
      run.events.map((event) => event.event),
      run.events.map((event) => event.data),
    ],
  );
  return row?.done ?? false;
}

export const insertRun = (
  db: Queryable,
  run: {
    runId: string;
    threadId: string;
    assistantId: string;
    kwargs: RunKwargs;
    metadata: object;
    multitaskStrategy: MultitaskStrategy;
    afterSeconds: number;
  },
) =>
  db.query<RunRow>(
    `insert into heddle.runs
       (run_id, thread_id, assistant_id, kwargs, metadata, multitask_strategy, available_at)
     values ($1::uuid, $2::uuid, $3::uuid, $4::json, $5::jsonb, $6::text,
       clock_timestamp() + make_interval(secs => $7::double precision))
     returning ${COLUMNS}`,
    [
      run.runId,
      run.threadId,
      run.assistantId,
      JSON.stringify(run.kwargs),
      run.metadata,
      run.multitaskStrategy,
      run.afterSeconds,
    ],
  );

/** The thread has a run now: what it runs is noted on it, so that its state can be read. */
export const markThreadBusy = (db: Queryable, threadId: string, metadata: object, config: object) =>
  db.query(
    `update heddle.threads
     set status = 'busy', metadata = metadata || $2::jsonb, config = $3::jsonb, updated_at = clock_timestamp()
     where thread_id = $1::uuid`,
    [threadId, metadata, config],
  );

export const selectRun = (db: Queryable, threadId: string, runId: string) =>
  db.query<RunRow>(`select ${COLUMNS} from heddle.runs where thread_id = $1::uuid and run_id = $2::uuid`, [
    threadId,
    runId,
  ]);

/** Newest first. */
export const selectRuns = (
  db: Queryable,
  threadId: string,
  page: { limit: number; offset: number; status?: RunStatus | undefined },
) =>
  db.query<RunRow>(
    `select ${COLUMNS} from heddle.runs
     where thread_id = $1::uuid and ($2::text is null or status = $2::text)
     order by run_number desc limit $3::bigint offset $4::bigint`,
    [threadId, page.status ?? null, page.limit, page.offset],
  );

export const selectUnfinished = (db: Queryable, threadId: string) =>
  db.query<{ run_id: string; status: RunStatus }>(
    `select run_id, status from heddle.runs
     where thread_id = $1::uuid and status in ('pending', 'running') order by run_number`,
    [threadId],
  );

/** Ends runs that nobody has started. */
export const interruptPending = (db: Queryable, runIds: readonly string[]) =>
  db.query<{ run_id: string }>(
    `update heddle.runs set status = 'interrupted', updated_at = clock_timestamp()
     where run_id = any ($1::uuid[]) and status = 'pending' returning run_id`,
    [runIds],
  );

export const deletePending = (db: Queryable, runIds: readonly string[]) =>
  db.query<{ run_id: string }>(
    "delete from heddle.runs where run_id = any ($1::uuid[]) and status = 'pending' returning run_id",
    [runIds],
  );

/** Tells the worker that has a run to stop it; it reads this when it renews its lease at the latest. */
export const requestCancel = (db: Queryable, runIds: readonly string[], action: CancelAction) =>
  db.query<{ run_id: string }>(
    `update heddle.runs set cancel_action = $2::text
     where run_id = any ($1::uuid[]) and status = 'running' returning run_id`,
    [runIds, action],
  );

/** After a pending run is gone: the thread is idle unless another run waits. */
export const settleThread = (db: Queryable, threadId: string) =>
  db.query(
    `update heddle.threads t set status = 'idle', updated_at = clock_timestamp()
     where t.thread_id = $1::uuid and t.status = 'busy'
       and not exists (
         select 1 from heddle.runs r where r.thread_id = t.thread_id and r.status in ('pending', 'running')
       )`,
    [threadId],
  );

/**
 * Removes a run that its worker rolls back, with the checkpoints it made; its run id is in their metadata. No row when
 * another worker has the run.
 */
export const deleteRunWithCheckpoints = (
  db: Queryable,
  run: { threadId: string; runId: string; token: string },
) =>
  db.query(
    `with run as (
       delete from heddle.runs
       where run_id = $2::uuid and fencing_token = $3::bigint and status = 'running'
       returning run_id
     ),
     gone as (
       delete from heddle.checkpoints c using run
       where c.thread_id = $1::text and c.metadata ->> 'run_id' = run.run_id::text
       returning c.checkpoint_ns, c.checkpoint_id
     ),
     writes as (
       delete from heddle.checkpoint_writes w using gone
       where w.thread_id = $1::text and w.checkpoint_ns = gone.checkpoint_ns and w.checkpoint_id = gone.checkpoint_id
     )
     select run_id from run`,
    [run.threadId, run.runId, run.token],
  );

/** The newest two root `values` events of a run, newest first: the last may be an interrupt alone. */
export const selectLastValues = (db: Queryable, runId: string) =>
  db.query<{ data: string }>(
    `select data from heddle.run_events where run_id = $1::uuid and event = 'values' order by seq desc limit 2`,
    [runId],
  );
