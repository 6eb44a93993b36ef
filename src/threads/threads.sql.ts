// The statements on threads.
import type { Queryable } from "../db/database.ts";
import { dump } from "../db/serializer.ts";
import { storableJson } from "../db/storable-json.ts";

type ThreadStatus = "idle" | "busy" | "interrupted" | "error";

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
}

const COLUMNS = "thread_id, status, metadata, config, interrupts, error, created_at, updated_at";

/** No row when the id is taken. */
export const insertThread = (db: Queryable, threadId: string, metadata: object) =>
  db.query<ThreadRow>(
    `insert into heddle.threads (thread_id, metadata) values ($1::uuid, $2::jsonb)
     on conflict (thread_id) do nothing returning ${COLUMNS}`,
    [threadId, metadata],
  );

export const selectThread = (db: Queryable, threadId: string) =>
  db.query<ThreadRow>(`select ${COLUMNS} from heddle.threads where thread_id = $1::uuid`, [threadId]);

/** `version` changes with every change of the row. */
export const selectThreadVersion = (db: Queryable, threadId: string) =>
  db.query<ThreadRow & { version: string }>(
    `select ${COLUMNS}, xmin::text as version from heddle.threads where thread_id = $1::uuid`,
    [threadId],
  );

/** Merges metadata, key by key. */
export const updateThreadMetadata = (db: Queryable, threadId: string, metadata: object) =>
  db.query<ThreadRow>(
    `update heddle.threads set metadata = metadata || $2::jsonb, updated_at = now()
     where thread_id = $1::uuid returning ${COLUMNS}`,
    [threadId, metadata],
  );

/**
 * Waits for a claim or another change of the thread's runs that is under way, and makes later ones wait: so that the
 * inflight runs that the caller then reads are still the inflight runs when it commits.
 */
export const lockThread = (db: Queryable, threadId: string) =>
  db.query<ThreadRow>(`select ${COLUMNS} from heddle.threads where thread_id = $1::uuid for no key update`, [
    threadId,
  ]);

/**
 * Takes the thread away from whoever writes it: the next write with an older token is refused. `for update` waits for
 * checkpoint writes under way, which hold the row `for key share`. Returns the new token.
 */
export const takeThread = (db: Queryable, threadId: string) =>
  db.query<{ fencing_token: string }>(
    `with locked as (select thread_id from heddle.threads where thread_id = $1::uuid for update)
     update heddle.threads t set fencing_token = t.fencing_token + 1
     from locked where t.thread_id = locked.thread_id
     returning t.fencing_token`,
    [threadId],
  );

/** Whether the thread has a run that is pending or running. */
export async function hasUnfinishedRun(db: Queryable, threadId: string): Promise<boolean> {
  const rows = await db.query(
    "select 1 from heddle.runs where thread_id = $1::uuid and finished_at is null limit 1",
    [threadId],
  );
  return rows.length > 0;
}

/** The thread, its runs and their events (by cascade). */
export const deleteThreadRow = (db: Queryable, threadId: string) =>
  db.query<{ thread_id: string }>(
    "delete from heddle.threads where thread_id = $1::uuid returning thread_id",
    [threadId],
  );

/** Stateless threads whose time is over. */
export const selectExpiredThreads = (db: Queryable, limit: number) =>
  db.query<{ thread_id: string }>(
    `select thread_id from heddle.threads t
     where delete_after < now()
       and not exists (select 1 from heddle.runs r where r.thread_id = t.thread_id and r.finished_at is null)
     order by delete_after limit $1::integer`,
    [limit],
  );

export interface ThreadSearch {
  readonly metadata?: Record<string, unknown> | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly status?: ThreadStatus | undefined;
  readonly limit: number;
  readonly offset: number;
  readonly sortBy: "thread_id" | "status" | "created_at" | "updated_at";
  readonly sortOrder: "asc" | "desc";
}

/** A page, and in `total` how many there are in all. `sortBy` and `sortOrder` are of closed types, never text of a client. */
export const searchThreadRows = (db: Queryable, search: ThreadSearch) =>
  db.query<ThreadRow & { total: string }>(
    `select ${COLUMNS}, count(*) over () as total
     from heddle.threads
     where ($1::jsonb is null or metadata @> $1::jsonb)
       and ($2::uuid[] is null or thread_id = any ($2::uuid[]))
       and ($3::text is null or status = $3::text)
     order by ${search.sortBy} ${search.sortOrder}, thread_id
     limit $4::bigint offset $5::bigint`,
    [search.metadata ?? null, search.ids ?? null, search.status ?? null, search.limit, search.offset],
  );

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
