// The statements of the checkpointer, on the official PostgresSaver's tables (schema heddle).
import type { Queryable } from "./database.ts";
import type { Address, Batch, WriteRow } from "./held-batches.ts";

/**
 * Who holds the thread's newest fencing token may write ($1: the thread, $2: the token; no token, no check).
 * `for key share` waits for a claim that is under way, or the end of a run, which lock the thread row `for update`:
 * without it a paused worker could check its token, lose the thread, and still write. The id is cast and not the column, so that the primary
 * key finds the row; in a `case`, because without a token the thread's id may be any text.
 */
const FENCE = `
fence as (
  select 1 from heddle.threads
  where thread_id = case when $2::bigint is not null then $1::text::uuid end and fencing_token = $2::bigint
  for key share
),
allowed as (
  select $2::bigint is null or exists (select 1 from fence) as ok
)`;

const insertWrites = (source: string, onConflict: string) => `
  insert into heddle.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
  select $1::text, $3::text, w.checkpoint_id, w.task_id, w.idx, w.channel, w.type, w.blob
  from unnest(${source}) as w (checkpoint_id, task_id, idx, channel, type, blob), allowed
  where allowed.ok
  on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict}`;

/** Of ordinary writes the first stays: a repeated task changes nothing. */
const STORE = `
with ${FENCE},
blobs as (
  insert into heddle.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
  select $1::text, $3::text, b.channel, b.version, b.type, b.blob
  from unnest($8::text[], $9::text[], $10::text[], $11::bytea[]) as b (channel, version, type, blob), allowed
  where allowed.ok
  on conflict (thread_id, checkpoint_ns, channel, version) do nothing
),
writes as (${insertWrites("$12::text[], $13::text[], $14::integer[], $15::text[], $16::text[], $17::bytea[]", "do nothing")}
),
checkpoints as (
  insert into heddle.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
  select $1::text, $3::text, c.id, c.parent_id, c.checkpoint::jsonb, c.metadata::jsonb
  from unnest($4::text[], $5::text[], $6::text[], $7::text[])
      with ordinality as c (id, parent_id, checkpoint, metadata, place), allowed
  where allowed.ok
  order by c.place
  on conflict (thread_id, checkpoint_ns, checkpoint_id)
  do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata
)
select ok from allowed`;

const REPLACE_WRITES = `
with ${FENCE},
writes as (${insertWrites(
  "$4::text[], $5::text[], $6::integer[], $7::text[], $8::text[], $9::bytea[]",
  "do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob",
)}
)
select ok from allowed`;

/** False when the token is out of date: then nothing is stored. */
export const storeBatch = (db: Queryable, place: Address, { checkpoints, blobs, writes }: Batch) =>
  write(db, STORE, place, [
    ...toColumns(checkpoints, ["id", "parentId", "checkpoint", "metadata"]),
    ...toColumns(blobs, ["channel", "version", "type", "blob"]),
    ...toColumns(writes, WRITE_COLUMNS),
  ]);

/** Errors, interrupts and resumes: the newest replaces. False as of `storeBatch`. */
export const replaceWrites = (db: Queryable, place: Address, rows: readonly WriteRow[]) =>
  write(db, REPLACE_WRITES, place, toColumns(rows, WRITE_COLUMNS));

async function write(
  db: Queryable,
  text: string,
  { threadId, fence, ns }: Address,
  columns: readonly (readonly unknown[])[],
): Promise<boolean> {
  const [answer] = await db.query<{ ok: boolean }>(text, [threadId, fence, ns, ...columns]);
  return answer?.ok === true;
}

const WRITE_COLUMNS = ["checkpointId", "taskId", "idx", "channel", "type", "blob"] as const;

/** The values of each column, for `unnest`. */
const toColumns = <Row extends object>(rows: readonly Row[], columns: readonly (keyof Row)[]) =>
  columns.map((column) => rows.map((row) => row[column]));

/** The row shape that PostgresSaver's loaders take. A cast to bytea, as it has it, fails on a name with a backslash. */
const select = (versions = "") => `
select
  thread_id, checkpoint, checkpoint_ns, checkpoint_id, parent_checkpoint_id, metadata,
  (
    select array_agg(array[convert_to(bl.channel, 'UTF8'), convert_to(bl.type, 'UTF8'), bl.blob])
    from jsonb_each_text(checkpoint -> 'channel_versions') as version
    join heddle.checkpoint_blobs bl
      on bl.thread_id = cp.thread_id and bl.checkpoint_ns = cp.checkpoint_ns
      and bl.channel = version.key and bl.version = version.value${versions}
  ) as channel_values,
  (
    select array_agg(
      array[convert_to(cw.task_id, 'UTF8'), convert_to(cw.channel, 'UTF8'), convert_to(cw.type, 'UTF8'), cw.blob]
      order by cw.task_id, cw.idx
    )
    from heddle.checkpoint_writes cw
    where cw.thread_id = cp.thread_id and cw.checkpoint_ns = cp.checkpoint_ns and cw.checkpoint_id = cp.checkpoint_id
  ) as pending_writes`;

/** $1 thread, $2 checkpoint_ns, $3 checkpoint_id: the newest unless one is named. */
export const SELECT_ONE = `
${select()}
from heddle.checkpoints cp
where thread_id = $1::text and checkpoint_ns = $2::text and ($3::text is null or checkpoint_id = $3::text)
order by seq desc limit 1`;

/** The newest of the root graph of each thread of $1; of the values only those of the channels $2, unless it is null. */
export const SELECT_HEADS = `
${select("\n      and ($2::text[] is null or bl.channel = any ($2::text[]))")}
from unnest($1::text[]) as wanted (id)
cross join lateral (
  select * from heddle.checkpoints c
  where c.thread_id = wanted.id and c.checkpoint_ns = ''
  order by c.seq desc limit 1
) cp`;

/**
 * $1 thread, $2 checkpoint_ns, $3 checkpoint_id, $4 part of the metadata, $5 id of the checkpoint before which they lie,
 * $6 limit; all but the limit may be null. $5 may be of another namespace (LangGraph asks so for what a subgraph knew
 * when its parent's checkpoint was made), and may not be stored yet when durability is not "sync": then the time in the
 * ids has to do.
 */
export const SELECT_LIST = `
with cursor as (
  select min(seq) as seq from heddle.checkpoints
  where checkpoint_id = $5::text and ($1::text is null or thread_id = $1::text)
)
${select()}
from heddle.checkpoints cp
where ($1::text is null or thread_id = $1::text)
  and ($2::text is null or checkpoint_ns = $2::text)
  and ($3::text is null or checkpoint_id = $3::text)
  and ($4::jsonb is null or metadata @> $4::jsonb)
  and ($5::text is null or coalesce(seq < (select cursor.seq from cursor), checkpoint_id < $5::text))
order by seq desc limit $6::bigint`;

/** Tasks that a checkpoint of format 3 or older kept as writes of its parent. */
export const SELECT_PENDING_SENDS = `
select checkpoint_id, array_agg(array[convert_to(type, 'UTF8'), blob] order by task_id, idx) as pending_sends
from heddle.checkpoint_writes
where thread_id = $1::text and checkpoint_id = any ($2::text[]) and channel = $3::text
group by checkpoint_id`;

/** All of a thread. */
export const DELETE_THREAD = `
with blobs as (delete from heddle.checkpoint_blobs where thread_id = $1::text),
writes as (delete from heddle.checkpoint_writes where thread_id = $1::text)
delete from heddle.checkpoints where thread_id = $1::text`;
