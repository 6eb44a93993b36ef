// The statements that read a snapshot of a thread's checkpoints, and put one back. For a transaction.
import type { CheckpointRow } from "../db/checkpoint-rows.sql.ts";
import type { Queryable } from "../db/database.ts";

/** The namespaces that belong to a state of the root graph: those of its tasks, and those that subgraphs keep for themselves. */
const belongs = (root: string) => `(
  c.metadata -> 'parents' ->> '' = ${root} or c.checkpoint_ns not like '%:%'
)`;

/**
 * The root graph's checkpoint (the newest, unless $2 names one), and of each subgraph the newest that belongs to it. Of one
 * that others have come after, `is_past`, only what was there before its tasks began. With what their values are made from, `is_head` false: a delta channel's are in the writes beside earlier checkpoints, and one
 * of format 3 or older has its tasks beside its parent. The oldest first.
 */
export const selectSnapshot = (db: Queryable, threadId: string, checkpointId: string | undefined) =>
  db.query<CheckpointRow & { is_head: boolean; is_past: boolean }>(
    `with recursive root as (
       select c.* from heddle.checkpoints c
       where c.thread_id = $1::text and c.checkpoint_ns = '' and ($2::text is null or c.checkpoint_id = $2::text)
       order by c.seq desc limit 1
     ),
     past as (
       select exists (
         select 1 from heddle.checkpoints n join root
           on n.thread_id = root.thread_id and n.checkpoint_ns = '' and n.parent_checkpoint_id = root.checkpoint_id
       ) as is_past
     ),
     heads as (
       select * from root
       union all
       (select distinct on (c.checkpoint_ns) c.*
        from heddle.checkpoints c, root, past
        where c.thread_id = $1::text and c.checkpoint_ns <> '' and ${belongs("root.checkpoint_id")}
          and (c.seq < root.seq or not is_past and c.metadata -> 'parents' ->> '' = root.checkpoint_id)
        order by c.checkpoint_ns, (c.metadata -> 'parents' ->> '' = root.checkpoint_id) desc nulls last, c.seq desc)
     ),
     kept as (
       select h.checkpoint_ns, h.checkpoint_id, h.parent_checkpoint_id, true as is_head,
         (h.checkpoint ->> 'v')::numeric < 4 as needs_parent
       from heads h
       union all
       select c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, false, false
       from kept join heddle.checkpoints c
         on c.thread_id = $1::text and c.checkpoint_ns = kept.checkpoint_ns
         and c.checkpoint_id = kept.parent_checkpoint_id
       where kept.needs_parent or jsonb_typeof(c.metadata -> 'counters_since_delta_snapshot') = 'object'
     )
     select c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.type, c.checkpoint,
       c.metadata::text as metadata, bool_or(kept.is_head) as is_head, (select is_past from past) as is_past
     from kept join heddle.checkpoints c
       on c.thread_id = $1::text and c.checkpoint_ns = kept.checkpoint_ns and c.checkpoint_id = kept.checkpoint_id
     group by c.thread_id, c.checkpoint_ns, c.checkpoint_id
     order by c.seq`,
    [threadId, checkpointId ?? null],
  );

/** Which namespaces of the thread belong to this checkpoint of its root graph now. */
export const selectNamespaces = (db: Queryable, threadId: string, checkpointId: string) =>
  db.query<{ checkpoint_ns: string }>(
    `select distinct c.checkpoint_ns from heddle.checkpoints c
     where c.thread_id = $1::text and c.checkpoint_ns <> '' and ${belongs("$2::text")}`,
    [threadId, checkpointId],
  );

interface Address {
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
}

/** Which of these the thread has, and which of them are the newest of their namespace. */
export const selectPresent = (db: Queryable, threadId: string, rows: readonly Address[]) =>
  db.query<Address & { is_newest: boolean }>(
    `select c.checkpoint_ns, c.checkpoint_id, not exists (
       select 1 from heddle.checkpoints n
       where n.thread_id = c.thread_id and n.checkpoint_ns = c.checkpoint_ns and n.seq > c.seq
     ) as is_newest
     from unnest($2::text[], $3::text[]) as wanted (ns, id)
     join heddle.checkpoints c
       on c.thread_id = $1::text and c.checkpoint_ns = wanted.ns and c.checkpoint_id = wanted.id`,
    [threadId, rows.map((row) => row.checkpoint_ns), rows.map((row) => row.checkpoint_id)],
  );

/** The checkpoint gets another id where it stands, with what lies beside it and what has come after it. */
export const setAside = (db: Queryable, threadId: string, row: Address, asideId: string) =>
  db.query(
    `with renamed as (
       update heddle.checkpoints
       set checkpoint_id = $4::text, checkpoint = jsonb_set(checkpoint, '{id}', to_jsonb($4::text))
       where thread_id = $1::text and checkpoint_ns = $2::text and checkpoint_id = $3::text
     ),
     children as (
       update heddle.checkpoints set parent_checkpoint_id = $4::text
       where thread_id = $1::text and checkpoint_ns = $2::text and parent_checkpoint_id = $3::text
     )
     update heddle.checkpoint_writes set checkpoint_id = $4::text
     where thread_id = $1::text and checkpoint_ns = $2::text and checkpoint_id = $3::text`,
    [threadId, row.checkpoint_ns, row.checkpoint_id, asideId],
  );

/** The checkpoint, of which nothing has come, with what lies beside it. */
export const deleteOne = (db: Queryable, threadId: string, row: Address) =>
  db.query(
    `with writes as (
       delete from heddle.checkpoint_writes
       where thread_id = $1::text and checkpoint_ns = $2::text and checkpoint_id = $3::text
     )
     delete from heddle.checkpoints
     where thread_id = $1::text and checkpoint_ns = $2::text and checkpoint_id = $3::text`,
    [threadId, row.checkpoint_ns, row.checkpoint_id],
  );

/** What the thread is and waits for after a restore. */
export const noteRestored = (
  db: Queryable,
  threadId: string,
  { graphId, config, interrupts }: { graphId: string; config: object; interrupts: string },
) =>
  db.query(
    `update heddle.threads
     set metadata = metadata || jsonb_build_object('graph_id', $2::text), config = $3::jsonb, interrupts = $4::jsonb,
       status = case
         when exists (select 1 from jsonb_each($4::jsonb) where jsonb_array_length(value) > 0) then 'interrupted'
         else 'idle' end,
       error = null, state_updated_at = clock_timestamp(), updated_at = clock_timestamp()
     where thread_id = $1::uuid`,
    [threadId, graphId, config, interrupts],
  );

export const selectNow = (db: Queryable) => db.query<{ now: Date }>("select clock_timestamp() as now");
