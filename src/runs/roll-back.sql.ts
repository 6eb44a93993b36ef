// The statement that undoes a run.
import type { Queryable } from "../db/database.ts";

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
