// The statements that reduce a thread to its newest state. For a transaction that holds the thread's row.
import type { Queryable } from "../db/database.ts";

/**
 * Removes all checkpoints but the newest of each namespace and what these need: a delta channel's value is made from
 * the writes beside earlier checkpoints, as far back as the next one that has it whole; a checkpoint of format 3 or
 * older has tasks beside its parent. `counters_since_delta_snapshot` is where LangGraph names a thread's delta channels.
 */
export const deleteOldCheckpoints = (db: Queryable, threadId: string) =>
  db.query<{ count: string }>(
    `with recursive delta as (
       select distinct c.checkpoint_ns, jsonb_object_keys(c.metadata -> 'counters_since_delta_snapshot') as channel
       from heddle.checkpoints c
       where c.thread_id = $1::text and jsonb_typeof(c.metadata -> 'counters_since_delta_snapshot') = 'object'
     ),
     head as (
       select distinct on (c.checkpoint_ns) c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint
       from heddle.checkpoints c where c.thread_id = $1::text
       order by c.checkpoint_ns, c.seq desc
     ),
     chain (checkpoint_ns, checkpoint_id, parent_checkpoint_id, channel, version) as (
       select h.checkpoint_ns, h.checkpoint_id, h.parent_checkpoint_id, d.channel,
         h.checkpoint -> 'channel_versions' ->> d.channel
       from head h join delta d using (checkpoint_ns)
       union all
       select c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, chain.channel,
         c.checkpoint -> 'channel_versions' ->> chain.channel
       from chain join heddle.checkpoints c
         on c.thread_id = $1::text and c.checkpoint_ns = chain.checkpoint_ns
         and c.checkpoint_id = chain.parent_checkpoint_id
       where not exists (
         select 1 from heddle.checkpoint_blobs b
         where b.thread_id = $1::text and b.checkpoint_ns = chain.checkpoint_ns
           and b.channel = chain.channel and b.version = chain.version and b.type <> 'empty'
       )
     ),
     kept as (
       select checkpoint_ns, checkpoint_id from head
       union select checkpoint_ns, checkpoint_id from chain
       union select checkpoint_ns, parent_checkpoint_id from head
         where (checkpoint ->> 'v')::numeric < 4 and parent_checkpoint_id is not null
     ),
     gone as (
       delete from heddle.checkpoints c
       where c.thread_id = $1::text
         and not exists (
           select 1 from kept k where k.checkpoint_ns = c.checkpoint_ns and k.checkpoint_id = c.checkpoint_id
         )
       returning c.checkpoint_id
     )
     select count(*) as count from gone`,
    [threadId],
  );

/** What lies beside checkpoints that are not there any more. */
export const deleteStrayWrites = (db: Queryable, threadId: string) =>
  db.query(
    `delete from heddle.checkpoint_writes w
     where w.thread_id = $1::text and not exists (
       select 1 from heddle.checkpoints c
       where c.thread_id = w.thread_id and c.checkpoint_ns = w.checkpoint_ns and c.checkpoint_id = w.checkpoint_id
     )`,
    [threadId],
  );

/** Values that no checkpoint names any more. */
export const deleteStrayBlobs = (db: Queryable, threadId: string) =>
  db.query(
    `with named as materialized (
       select distinct c.checkpoint_ns, v.key as channel, v.value as version
       from heddle.checkpoints c, jsonb_each_text(c.checkpoint -> 'channel_versions') v
       where c.thread_id = $1::text
     )
     delete from heddle.checkpoint_blobs b
     where b.thread_id = $1::text and not exists (
       select 1 from named n
       where n.checkpoint_ns = b.checkpoint_ns and n.channel = b.channel and n.version = b.version
     )`,
    [threadId],
  );

/** A parent that is gone is not shown: nobody could read it. */
export const forgetGoneParents = (db: Queryable, threadId: string) =>
  db.query(
    `update heddle.checkpoints c set parent_checkpoint_id = null
     where c.thread_id = $1::text and c.parent_checkpoint_id is not null and not exists (
       select 1 from heddle.checkpoints p
       where p.thread_id = c.thread_id and p.checkpoint_ns = c.checkpoint_ns
         and p.checkpoint_id = c.parent_checkpoint_id
     )`,
    [threadId],
  );

/** The next expiry is that after the next activity. No row when the thread's time is not over. */
export const clearExpiry = (db: Queryable, threadId: string) =>
  db.query<{ thread_id: string }>(
    `update heddle.threads set delete_after = null
     where thread_id = $1::uuid and delete_after < clock_timestamp() returning thread_id`,
    [threadId],
  );
