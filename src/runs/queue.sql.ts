// What waits in the queue, for those who watch the server.
import type { Queryable } from "../db/database.ts";

export interface QueueSize {
  /** Runs that wait, for their time or for another run of their thread as well. */
  readonly pending: number;
  /** Runs that could start now if a worker had room: at most one of a thread. */
  readonly ready: number;
  /** Seconds that the oldest of those has been waiting. */
  readonly lag: number;
}

export async function selectQueueSize(db: Queryable): Promise<QueueSize> {
  const [row] = await db.query<QueueSize>(
    `select count(*)::integer as pending,
       (count(distinct r.thread_id) filter (where ready))::integer as ready,
       coalesce(extract(epoch from clock_timestamp() - min(r.available_at) filter (where ready)), 0)::double precision as lag
     from heddle.runs r
     cross join lateral (
       select r.available_at <= clock_timestamp() and not exists (
         select 1 from heddle.runs live
         where live.thread_id = r.thread_id and live.finished_at is null
           and live.status = 'running' and live.lease_until >= clock_timestamp()
       ) as ready
     ) state
     where r.finished_at is null and r.status = 'pending'`,
  );
  return row ?? { pending: 0, ready: 0, lag: 0 };
}
