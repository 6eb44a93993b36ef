// The statements of the checkpointer, on the official PostgresSaver's tables (schema heddle).

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

/** Rows of checkpoint_writes; each argument is the number of the parameter that has it. */
const insertWrites = (checkpoint: number, first: number, onConflict: string) => `
  insert into heddle.checkpoint_writes (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
  select $1::text, $3::text, $${checkpoint}::text, w.task_id, w.idx, w.channel, w.type, w.blob
  from unnest(
      $${first}::text[], $${first + 1}::integer[], $${first + 2}::text[], $${first + 3}::text[], $${first + 4}::bytea[]
    ) as w (task_id, idx, channel, type, blob), allowed
  where allowed.ok
  on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx) ${onConflict}`;

const ONCE = "do nothing";

const put = (writes = "") => `
with ${FENCE},
blobs as (
  insert into heddle.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
  select $1::text, $3::text, b.channel, b.version, b.type, b.blob
  from unnest($8::text[], $9::text[], $10::text[], $11::bytea[]) as b (channel, version, type, blob), allowed
  where allowed.ok
  on conflict (thread_id, checkpoint_ns, channel, version) do nothing
)${writes}
insert into heddle.checkpoints (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, checkpoint, metadata)
select $1::text, $3::text, $4::text, $5::text, $6::jsonb, $7::jsonb from allowed where allowed.ok
on conflict (thread_id, checkpoint_ns, checkpoint_id)
do update set checkpoint = excluded.checkpoint, metadata = excluded.metadata
returning seq`;

/**
 * $3 checkpoint_ns, $4 checkpoint_id, $5 parent id, $6 checkpoint, $7 metadata, $8–$11 channels, versions, types and
 * blobs. Returns one row, or none when the token is out of date.
 */
export const PUT = put();
/** The same, with the last writes beside the parent: $12–$16 task ids, idx, channels, types and blobs. */
export const PUT_WITH_WRITES = put(`,\nwrites as (${insertWrites(5, 12, ONCE)})`);

/** $3 checkpoint_ns, $4 checkpoint_id, $5–$9 task ids, idx, channels, types and blobs. Returns whether it was allowed. */
const putWrites = (onConflict: string) => `
with ${FENCE},
writes as (${insertWrites(4, 5, onConflict)})
select ok from allowed`;

/** Ordinary writes of tasks: the first stays, a repeated task changes nothing. */
export const PUT_WRITES_ONCE = putWrites(ONCE);
/** Errors, interrupts and resumes: the newest replaces. */
export const PUT_WRITES_REPLACE = putWrites(
  "do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob",
);

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
