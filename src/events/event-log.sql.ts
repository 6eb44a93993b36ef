// The statements of the event log.
import type { Queryable } from "../db/database.ts";

export interface EventRow {
  readonly seq: number;
  readonly event: string;
  /** JSON text, sent as it is. */
  readonly data: string;
}

export interface NewEvent extends EventRow {
  readonly runId: string;
  readonly token: string;
}

/**
 * Appends events of any number of runs in one statement. Returns the runs that may still write: an event whose token is
 * out of date is left out. `for share` waits for a claim or a finish that is under way, so that a worker that lost the
 * run in the same moment does not slip an event in. In the order of the ids, as `renewLeases` locks them: two
 * statements that lock several runs in different orders end in a deadlock.
 */
export async function insertEvents(db: Queryable, events: readonly NewEvent[]): Promise<Set<string>> {
  const rows = await db.query<{ run_id: string }>(
    `with event as (
       select * from unnest($1::uuid[], $2::bigint[], $3::integer[], $4::text[], $5::text[])
         as e (run_id, token, seq, event, data)
     ),
     owned as (
       select r.run_id, r.fencing_token from heddle.runs r
       where r.run_id = any ($1::uuid[]) and r.status = 'running'
       order by r.run_id for share
     ),
     written as (
       insert into heddle.run_events (run_id, seq, event, data)
       select e.run_id, e.seq, e.event, e.data
       from event e join owned o on o.run_id = e.run_id and o.fencing_token = e.token
     )
     select distinct e.run_id::text from event e join owned o on o.run_id = e.run_id and o.fencing_token = e.token`,
    [
      events.map((event) => event.runId),
      events.map((event) => event.token),
      events.map((event) => event.seq),
      events.map((event) => event.event),
      events.map((event) => event.data),
    ],
  );
  return new Set(rows.map((row) => row.run_id));
}

export const selectEventsAfter = (db: Queryable, runId: string, after: number, limit: number) =>
  db.query<EventRow & { seq: number }>(
    `select seq, event, data from heddle.run_events
     where run_id = $1::uuid and seq > $2::integer
     order by seq limit $3::integer`,
    [runId, after, limit],
  );

/** The newest seq of a run, -1 when it has none. */
export async function selectLastSeq(db: Queryable, runId: string): Promise<number> {
  const [row] = await db.query<{ seq: number }>(
    "select coalesce(max(seq), -1) as seq from heddle.run_events where run_id = $1::uuid",
    [runId],
  );
  return row?.seq ?? -1;
}

export const selectRunStatus = (db: Queryable, runId: string) =>
  db.query<{ status: string }>("select status from heddle.runs where run_id = $1::uuid", [runId]);
