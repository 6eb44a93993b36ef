// The statements that delete the events of runs that ended long ago. First the runs are marked, in a transaction of its
// own, and readers get none of their events any more: so nobody ever reads what is half deleted.
import type { Queryable } from "../db/database.ts";

/**
 * Marks runs that ended more than `seconds` ago. `skip locked`: another process may be marking them as well. Here and
 * below `now()`, which the index can be searched by; `clock_timestamp()` would read all runs that have events.
 */
export const markExpired = (db: Queryable, seconds: number, limit: number) =>
  db.query<{ run_id: string }>(
    `update heddle.runs set events = 'expired'
     where run_id in (
       select run_id from heddle.runs
       where events <> 'deleted' and events = 'kept' and finished_at is not null
         and finished_at < now() - make_interval(secs => $1::double precision)
       order by finished_at limit $2::integer for update skip locked
     )
     returning run_id`,
    [seconds, limit],
  );

/** Marked runs that may still have events. */
export const selectExpired = (db: Queryable, seconds: number, limit: number) =>
  db.query<{ run_id: string }>(
    `select run_id from heddle.runs
     where events <> 'deleted' and events = 'expired' and finished_at is not null
       and finished_at < now() - make_interval(secs => $1::double precision)
     order by finished_at limit $2::integer`,
    [seconds, limit],
  );

/**
 * `skip locked`: two processes that delete the same rows in different orders would wait for each other. By ctid, which
 * a row keeps, because no event is ever updated: the plan does not depend on how large the planner thinks the log is.
 */
export const deleteEvents = (db: Queryable, runIds: readonly string[], limit: number) =>
  db.query<{ run_id: string }>(
    `delete from heddle.run_events
     where ctid = any (array(
       select ctid from heddle.run_events where run_id = any ($1::uuid[])
       limit $2::integer for update skip locked
     ))
     returning run_id`,
    [runIds, limit],
  );

/** Closes the matter of runs that have no event left. */
export const markDeleted = (db: Queryable, runIds: readonly string[]) =>
  db.query<{ run_id: string }>(
    `update heddle.runs r set events = 'deleted'
     where r.run_id in (select run_id from heddle.runs where run_id = any ($1::uuid[]) for update skip locked)
       and r.events = 'expired'
       and not exists (select 1 from heddle.run_events e where e.run_id = r.run_id)
     returning r.run_id`,
    [runIds],
  );
