// The statements on threads.
import { isLockNotAvailable, type Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";
import { dump } from "../db/serializer.ts";
import { storableJson } from "../db/storable-json.ts";
import { AppError } from "../errors.ts";

export type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

/** How long a thread is kept after its last activity, and what happens then. */
export interface Ttl {
  readonly minutes: number;
  /** "keep_latest": the thread stays, with no more than its newest state. */
  readonly strategy: "delete" | "keep_latest";
}

export interface ThreadRow {
  readonly thread_id: string;
  readonly status: ThreadStatus;
  readonly metadata: Record<string, unknown>;
  readonly config: Record<string, unknown>;
  /** Task id to its interrupts. */
  readonly interrupts: Record<string, unknown[]>;
  readonly error: string | null;
  readonly created_at: Date;
  readonly updated_at: Date;
  readonly state_updated_at: Date;
}

export const COLUMNS =
  "thread_id, status, metadata, config, interrupts, error, created_at, updated_at, state_updated_at";

/** No row when the id is taken. @throws AppError thread_being_deleted: its row is locked, or what it held is still there */
export async function insertThread(
  db: Queryable,
  threadId: string,
  metadata: object,
  ttl?: Ttl,
): Promise<ThreadRow[]> {
  try {
    return await db.query<ThreadRow>(
      `insert into heddle.threads (thread_id, metadata, ttl_minutes, ttl_strategy, delete_after)
       values ($1::uuid, $2::jsonb, $3::double precision, coalesce($4::text, 'delete'),
         clock_timestamp() + make_interval(secs => $3::double precision * 60))
       on conflict (thread_id) do nothing returning ${COLUMNS}`,
      [threadId, metadata, ttl?.minutes ?? null, ttl?.strategy ?? null],
    );
  } catch (cause) {
    if (!isLockNotAvailable(cause)) throw cause;
    const message = `Thread ${threadId} is still being deleted. Try again in a moment, or choose another id.`;
    throw new AppError("thread_being_deleted", message, { cause });
  }
}

export const selectThread = (db: Queryable, threadId: string, scope?: Scope) =>
  db.query<ThreadRow>(`select ${COLUMNS} from heddle.threads where thread_id = $1::uuid and ${inScope(2)}`, [
    threadId,
    scope,
  ]);

/** `version` changes with every change of the row. */
export const selectThreadVersion = (db: Queryable, threadId: string, scope?: Scope) =>
  db.query<ThreadRow & { version: string }>(
    `select ${COLUMNS}, xmin::text as version from heddle.threads where thread_id = $1::uuid and ${inScope(2)}`,
    [threadId, scope],
  );

/** Merges metadata, key by key; a ttl that is given counts from now. */
export const updateThread = (
  db: Queryable,
  threadId: string,
  { metadata, ttl }: { metadata: object; ttl: Ttl | undefined },
  scope: Scope,
) =>
  db.query<ThreadRow>(
    `update heddle.threads
     set metadata = metadata || $2::jsonb, updated_at = clock_timestamp(),
       ttl_minutes = coalesce($3::double precision, ttl_minutes), ttl_strategy = coalesce($4::text, ttl_strategy),
       delete_after = coalesce(clock_timestamp() + make_interval(secs => $3::double precision * 60), delete_after)
     where thread_id = $1::uuid and ${inScope(5)} returning ${COLUMNS}`,
    [threadId, metadata, ttl?.minutes ?? null, ttl?.strategy ?? null, scope],
  );

/** No row when the thread has no ttl. */
export const selectTtl = (db: Queryable, threadId: string) =>
  db.query<{ strategy: string; ttl_minutes: number; expires_at: Date | null }>(
    `select ttl_strategy as strategy, ttl_minutes, delete_after as expires_at
     from heddle.threads where thread_id = $1::uuid and ttl_minutes is not null`,
    [threadId],
  );

/**
 * Waits for a claim or another change of the thread's runs that is under way, and makes later ones wait: so that the
 * inflight runs that the caller then reads are still the inflight runs when it commits.
 */
export const lockThread = (db: Queryable, threadId: string, scope?: Scope) =>
  db.query<ThreadRow>(
    `select ${COLUMNS} from heddle.threads where thread_id = $1::uuid and ${inScope(2)} for no key update`,
    [threadId, scope],
  );

/**
 * Takes the thread away from whoever writes it: the next write with an older token is refused. `for update` waits for
 * checkpoint writes under way, which hold the row `for key share`. Returns the new token.
 */
export const takeThread = (db: Queryable, threadId: string, scope?: Scope) =>
  db.query<{ fencing_token: string }>(
    `with locked as (select thread_id from heddle.threads where thread_id = $1::uuid and ${inScope(2)} for update)
     update heddle.threads t set fencing_token = t.fencing_token + 1
     from locked where t.thread_id = locked.thread_id
     returning t.fencing_token`,
    [threadId, scope],
  );

/**
 * After a change of the state from outside: what the thread waits for now. One that was interrupted and has nothing to do
 * any more is idle.
 */
export const noteState = (
  db: Queryable,
  threadId: string,
  { interrupts, isDone }: { interrupts: string; isDone: boolean },
) =>
  db.query(
    `update heddle.threads
     set interrupts = $2::jsonb,
       status = case
         when exists (select 1 from jsonb_each($2::jsonb) where jsonb_array_length(value) > 0) then 'interrupted'
         when status = 'interrupted' and $3::boolean then 'idle'
         else status end,
       state_updated_at = clock_timestamp(), updated_at = clock_timestamp()
     where thread_id = $1::uuid`,
    [threadId, storableJson(interrupts), isDone],
  );

/** Whether the thread has a run that is pending or running. */
export async function hasUnfinishedRun(db: Queryable, threadId: string): Promise<boolean> {
  const rows = await db.query(
    "select 1 from heddle.runs where thread_id = $1::uuid and finished_at is null limit 1",
    [threadId],
  );
  return rows.length > 0;
}

/**
 * Removes what was written beside a checkpoint, the newest unless one is named. `for key share` waits for a claim that
 * is under way: only the holder of the thread's newest token may remove it.
 */
export const deletePendingWrites = (
  db: Queryable,
  { threadId, checkpointId, token }: { threadId: string; checkpointId: string | undefined; token: string },
) =>
  db.query(
    `with fence as (
       select 1 from heddle.threads
       where thread_id = $1::uuid and fencing_token = $3::bigint
       for key share
     )
     delete from heddle.checkpoint_writes
     where thread_id = $1::text and checkpoint_ns = ''
       and checkpoint_id = coalesce($2::text, (
         select checkpoint_id from heddle.checkpoints
         where thread_id = $1::text and checkpoint_ns = ''
         order by seq desc
         limit 1
       ))
       and exists (select 1 from fence)`,
    [threadId, checkpointId ?? null, token],
  );

/** What LangGraph itself has written there stays. No row when the thread has no checkpoint. */
export const updateHeadMetadata = (db: Queryable, threadId: string, metadata: object, scope: Scope) =>
  db.query<{ checkpoint_id: string }>(
    `with thread as (
       update heddle.threads set updated_at = clock_timestamp()
       where thread_id = $1::uuid and ${inScope(3)} returning thread_id::text
     )
     update heddle.checkpoints c
     set metadata = c.metadata || ($2::jsonb - array['source', 'step', 'parents', 'run_id', 'counters_since_delta_snapshot'])
     from thread
     where (c.thread_id, c.checkpoint_ns, c.checkpoint_id) = (
       select h.thread_id, h.checkpoint_ns, h.checkpoint_id from heddle.checkpoints h
       where h.thread_id = thread.thread_id and h.checkpoint_ns = '' order by h.seq desc limit 1
     )
     returning c.checkpoint_id`,
    [threadId, storableJson(dump(metadata)), scope],
  );

/** After its checkpoints have come from elsewhere. A graph that the thread has already is kept. */
export const describeImportedThread = (
  db: Queryable,
  threadId: string,
  { graphId, interrupts }: { graphId: string | undefined; interrupts: Record<string, unknown[]> },
) =>
  db.query(
    `update heddle.threads
     set metadata = case when $2::text is null then metadata
           else jsonb_build_object('graph_id', $2::text) || metadata end,
       interrupts = $3::jsonb,
       status = case when $3::jsonb = '{}' then 'idle' else 'interrupted' end
     where thread_id = $1::uuid`,
    [threadId, graphId ?? null, storableJson(dump(interrupts))],
  );

/** What a thread that comes from elsewhere goes by in later runs. One that has a configuration keeps it. */
export const setFirstConfig = (db: Queryable, threadId: string, config: object) =>
  db.query("update heddle.threads set config = $2::jsonb where thread_id = $1::uuid and config = '{}'", [
    threadId,
    storableJson(JSON.stringify(config)),
  ]);
