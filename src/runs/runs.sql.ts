// The statements on runs. Claiming and finishing are functions of the schema (migrations/0001_initial.sql).
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";
import { storableJson } from "../db/storable-json.ts";
import type { NewEvent } from "../events/event-log.sql.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { RunKwargs } from "./run-kwargs.ts";

export type RunStatus = "pending" | "running" | "success" | "error" | "timeout" | "interrupted";
export type MultitaskStrategy = "reject" | "enqueue" | "interrupt" | "rollback";
export type CancelAction = "interrupt" | "rollback";

export interface RunError {
  readonly error: string;
  readonly message: string;
  /** What else there is to know, by the kind of error. */
  readonly [field: string]: unknown;
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
  /** Why it was told to stop. */
  readonly cancel_reason: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** A run in the hands of a worker. */
export interface ClaimedRun extends RunRow {
  readonly fencing_token: string;
  readonly attempt: number;
  /** Workers that fell silent while they had it. */
  readonly crashes: number;
  /** It was cancelled while no worker had it. */
  readonly cancel_action: CancelAction | null;
}

const COLUMNS =
  "run_id, thread_id, assistant_id, status, kwargs, metadata, multitask_strategy, error, cancel_reason, created_at, updated_at";

export async function claimRun(
  db: Queryable,
  options: {
    owner: string;
    leaseSeconds: number;
    maxCrashes: number;
    /** Take only a run that has ended fewer workers. */
    belowCrashes?: number;
  },
): Promise<ClaimedRun | undefined> {
  const [run] = await db.query<ClaimedRun>(
    `select ${COLUMNS}, fencing_token, attempt, crashes, cancel_action
     from heddle.claim_run($1::text, make_interval(secs => $2::double precision), $3::integer, $4::integer)`,
    [options.owner, options.leaseSeconds, options.maxCrashes, options.belowCrashes ?? options.maxCrashes],
  );
  return run;
}

/** Who holds leases now. */
export const selectOwners = (db: Queryable) =>
  db.query<{ lease_owner: string }>(
    "select distinct lease_owner from heddle.runs where status = 'running' and lease_owner is not null",
  );

/** Lets the leases of owners that have ended run out now. */
export const endLeases = (db: Queryable, owners: readonly string[]) =>
  db.query<{ run_id: string }>(
    `update heddle.runs set lease_until = clock_timestamp() - interval '1 microsecond'
     where status = 'running' and lease_owner = any ($1::text[]) returning run_id`,
    [owners],
  );

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
     set lease_until = clock_timestamp() + make_interval(secs => $3::double precision),
       lease_renewed_at = clock_timestamp()
     from mine where r.run_id = mine.run_id
     returning r.run_id, r.cancel_action`,
    [runs.map((run) => run.runId), runs.map((run) => run.token), leaseSeconds],
  );

/**
 * Gives a run back to the queue. The thread's token grows: a write of this attempt that is still on its way, perhaps
 * sent again and again to a database that is away, must not come after it. The thread's row is locked first.
 */
export const releaseRun = (db: Queryable, run: Pick<ClaimedRun, "run_id" | "thread_id" | "fencing_token">) =>
  db.query(
    `with locked as (
       select thread_id from heddle.threads where thread_id = $1::uuid and fencing_token = $3::bigint for update
     ), thread as (
       update heddle.threads t set fencing_token = t.fencing_token + 1
       from locked where t.thread_id = locked.thread_id
       returning t.thread_id
     )
     update heddle.runs r
     set status = 'pending', lease_owner = null, lease_until = null, updated_at = clock_timestamp()
     from thread
     where r.thread_id = thread.thread_id and r.run_id = $2::uuid and r.fencing_token = $3::bigint and r.status = 'running'`,
    [run.thread_id, run.run_id, run.fencing_token],
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
  readonly events: readonly NewEvent[];
}

/** What became of the run: another worker has it ("lost"), or it is to be rolled back instead. */
type Finish = "done" | "lost" | "rollback";

export async function finishRun(db: Queryable, run: FinishedRun): Promise<Finish> {
  const [row] = await db.query<{ result: Finish }>(
    `select heddle.finish_run(
       $1::uuid, $2::bigint, $3::text, $4::json, $5::text, $6::text, $7::jsonb, $8::integer,
       $9::integer[], $10::text[], $11::text[], $12::boolean[]
     ) as result`,
    [
      run.runId,
      run.token,
      run.status,
      run.error === null ? null : JSON.stringify(run.error),
      run.threadStatus,
      run.threadStatus === "error" ? (run.error?.message ?? null) : null,
      storableJson(toWireJson(run.interrupts)),
      run.keepSeconds,
      run.events.map((event) => event.seq),
      run.events.map((event) => event.event),
      run.events.map((event) => event.pointer ?? event.data),
      run.events.map((event) => event.pointer !== undefined),
    ],
  );
  return row?.result ?? "lost";
}

export interface NewRun {
  readonly runId: string;
  readonly threadId: string;
  readonly assistantId: string;
  readonly kwargs: RunKwargs;
  readonly metadata: object;
  readonly multitaskStrategy: MultitaskStrategy;
  readonly afterSeconds: number;
}

/**
 * No row when the run is marked as deep research (`metadata.isDeepResearch`) and the thread has another such run that is
 * unfinished and that nobody has told to stop.
 */
export const insertRun = (
  db: Queryable,
  run: NewRun & { idempotencyKey: string | null; requestDigest: string | null },
) =>
  db.query<RunRow>(
    `insert into heddle.runs
       (run_id, thread_id, assistant_id, kwargs, metadata, multitask_strategy, available_at,
       idempotency_key, request_digest)
     values ($1::uuid, $2::uuid, $3::uuid, $4::json, $5::jsonb, $6::text,
       clock_timestamp() + make_interval(secs => $7::double precision), $8::text, $9::text)
     on conflict (thread_id)
       where finished_at is null and cancel_action is null and metadata -> 'isDeepResearch' = 'true' do nothing
     returning ${COLUMNS}`,
    [
      run.runId,
      run.threadId,
      run.assistantId,
      JSON.stringify(run.kwargs),
      run.metadata,
      run.multitaskStrategy,
      run.afterSeconds,
      run.idempotencyKey,
      run.requestDigest,
    ],
  );

/** Makes requests with the same key wait for each other until the end of the transaction: two would make two runs. */
export const lockIdempotencyKey = (db: Queryable, key: string) =>
  db.query("select pg_advisory_xact_lock(hashtextextended($1::text, 0))", [key]);

export const selectRunByKey = (db: Queryable, key: string) =>
  db.query<RunRow & { request_digest: string }>(
    `select ${COLUMNS}, request_digest from heddle.runs where idempotency_key = $1::text`,
    [key],
  );

/** Adds a run to a thread that is still at `version` and has no unfinished run; no row otherwise. */
export const addRun = (
  db: Queryable,
  thread: { version: string; metadata: object; config: object },
  run: NewRun,
) =>
  db.query<RunRow>(
    `select ${COLUMNS} from heddle.add_run($1::uuid, $2::text, $3::jsonb, $4::jsonb, $5::uuid, $6::uuid, $7::json,
       $8::jsonb, $9::text, $10::double precision)`,
    [
      run.threadId,
      thread.version,
      thread.metadata,
      thread.config,
      run.runId,
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

/** That of the caller's threads; of any thread when none is named. */
export const selectRun = (db: Queryable, threadId: string | undefined, runId: string, scope?: Scope) =>
  db.query<RunRow>(
    `select ${COLUMNS} from heddle.runs r
     where run_id = $2::uuid and ($1::uuid is null or thread_id = $1::uuid) and ${ofThreadInScope(3)}`,
    [threadId, runId, scope],
  );

/** For a statement on `heddle.runs r`. */
export const ofThreadInScope = (parameter: number) =>
  `($${parameter}::jsonb is null or exists (
     select 1 from heddle.threads t where t.thread_id = r.thread_id and ${inScope(parameter, "t.metadata")}
   ))`;

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

/** A row when the thread has this checkpoint. */
export const selectCheckpoint = (
  db: Queryable,
  threadId: string,
  checkpointNs: string,
  checkpointId: string,
) =>
  db.query(
    `select 1 from heddle.checkpoints
     where thread_id = $1::text and checkpoint_ns = $2::text and checkpoint_id = $3::text`,
    [threadId, checkpointNs, checkpointId],
  );

export const selectUnfinished = (db: Queryable, threadId: string) =>
  db.query<{ run_id: string; status: RunStatus }>(
    `select run_id, status from heddle.runs
     where thread_id = $1::uuid and finished_at is null order by run_number`,
    [threadId],
  );
