// The statements that remove a run with the checkpoints it made, whose metadata has its run id.
import type { Queryable } from "../db/database.ts";

/**
 * Removes a run that its worker rolls back, with the checkpoints it made; its run id is in their metadata. Of their values
 * those go that they do not have from the checkpoint that the run has started from: a version has one value for ever, and
 * nothing else can have grown from the run's checkpoints while it was running. No row when another worker has the run.
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
       returning c.checkpoint_ns, c.checkpoint_id, c.parent_checkpoint_id, c.checkpoint
     ),
     inherited as (
       select distinct p.checkpoint_ns, v.key as channel, v.value as version
       from gone join heddle.checkpoints p
         on p.thread_id = $1::text and p.checkpoint_ns = gone.checkpoint_ns and p.checkpoint_id = gone.parent_checkpoint_id
       cross join jsonb_each_text(p.checkpoint -> 'channel_versions') v
       where p.checkpoint_id not in (select g.checkpoint_id from gone g where g.checkpoint_ns = p.checkpoint_ns)
     ),
     made as (
       select gone.checkpoint_ns, v.key as channel, v.value as version
       from gone cross join jsonb_each_text(gone.checkpoint -> 'channel_versions') v
       except select checkpoint_ns, channel, version from inherited
     ),
     blobs as (
       delete from heddle.checkpoint_blobs b using made
       where b.thread_id = $1::text and b.checkpoint_ns = made.checkpoint_ns
         and b.channel = made.channel and b.version = made.version
     ),
     writes as (
       delete from heddle.checkpoint_writes w using gone
       where w.thread_id = $1::text and w.checkpoint_ns = gone.checkpoint_ns and w.checkpoint_id = gone.checkpoint_id
     )
     select run_id from run`,
    [run.threadId, run.runId, run.token],
  );

/**
 * Removes a run that has ended. A checkpoint that the streamed states of another run are rebuilt from stays as long as
 * that run; and so do the values, which later checkpoints may have from this run's.
 */
export const deleteEndedRun = (db: Queryable, run: { threadId: string; runId: string }) =>
  db.query<{ run_id: string }>(
    `with run as (
       delete from heddle.runs
       where thread_id = $1::uuid and run_id = $2::uuid and finished_at is not null
       returning run_id
     ),
     gone as (
       delete from heddle.checkpoints c using run
       where c.thread_id = $1::text and c.metadata ->> 'run_id' = run.run_id::text
         and not exists (
           select 1 from heddle.runs other join heddle.run_events e on e.run_id = other.run_id
           where other.thread_id = $1::uuid and other.run_id <> $2::uuid and e.is_pointer
             and e.data::json ->> 'checkpoint_id' = c.checkpoint_id
             and e.data::json ->> 'checkpoint_ns' = c.checkpoint_ns
         )
       returning c.checkpoint_ns, c.checkpoint_id
     ),
     writes as (
       delete from heddle.checkpoint_writes w using gone
       where w.thread_id = $1::text and w.checkpoint_ns = gone.checkpoint_ns and w.checkpoint_id = gone.checkpoint_id
     )
     select run_id from run`,
    [run.threadId, run.runId],
  );
