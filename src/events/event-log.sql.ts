// The statements of the event log.
import type { Queryable } from "../db/database.ts";

export interface EventRow {
  readonly seq: number;
  readonly event: string;
  /** JSON text, sent as it is. */
  readonly data: string;
  /** What is stored instead of `data`, if anything: see state-pointer.ts. */
  readonly pointer?: string;
  /** The event in whose place this one tells that its state is lost, with what is left of it. */
  readonly lost?: { readonly event: string; readonly data: string };
}

/** An event that is not stored yet. */
export type NewEvent = EventRow;

export interface OwnedEvent extends NewEvent {
  readonly runId: string;
  readonly token: string;
}

/** As stored: with `is_pointer`, `data` has to be rebuilt (stored-events.ts). */
export interface StoredEvent extends EventRow {
  readonly is_pointer: boolean;
}

/**
 * Appends events of any number of runs in one statement. Returns the owners (`ownerOf`) that may still write: an event
 * whose token is out of date is left out, while the run's next worker, which may be in the same process and statement,
 * writes. `for share` waits for a claim or a finish that is under way, so that a worker that lost the
 * run in the same moment does not slip an event in. In the order of the ids, as `renewLeases` locks them: two
 * statements that lock several runs in different orders end in a deadlock. The same events may be sent twice, when the
 * answer to the first time was lost.
 */
export async function insertEvents(db: Queryable, events: readonly OwnedEvent[]): Promise<Set<string>> {
  const rows = await db.query<{ runId: string; token: string }>(
    `with event as (
       select * from unnest($1::uuid[], $2::bigint[], $3::integer[], $4::text[], $5::text[], $6::boolean[])
         as e (run_id, token, seq, event, data, is_pointer)
     ),
     owned as (
       select r.run_id, r.fencing_token from heddle.runs r
       where r.run_id = any ($1::uuid[]) and r.status = 'running'
       order by r.run_id for share
     ),
     written as (
       insert into heddle.run_events (run_id, seq, event, data, is_pointer)
       select e.run_id, e.seq, e.event, e.data, e.is_pointer
       from event e join owned o on o.run_id = e.run_id and o.fencing_token = e.token
       on conflict (run_id, seq) do nothing
     )
     select distinct e.run_id::text as "runId", e.token::text as token
     from event e join owned o on o.run_id = e.run_id and o.fencing_token = e.token`,
    [
      events.map((event) => event.runId),
      events.map((event) => event.token),
      events.map((event) => event.seq),
      events.map((event) => event.event),
      events.map((event) => event.pointer ?? event.data),
      events.map((event) => event.pointer !== undefined),
    ],
  );
  return new Set(rows.map(ownerOf));
}

const FINISHED = new Set(["success", "error", "timeout", "interrupted"]);

export const hasEnded = (status: string) => FINISHED.has(status);

/** One attempt of a run. */
export const ownerOf = ({ runId, token }: { runId: string; token: string }) => `${runId} ${token}`;

export interface LogPage {
  readonly threadId: string;
  readonly status: string;
  /** Whether all of the run's events are still there; if not, some of them may be. */
  readonly kept: boolean;
  readonly events: readonly StoredEvent[];
}

/**
 * A run and its next events, seen at one moment: what an ended run's events are is all there, and none of them is
 * missing because they are being deleted. Undefined when there is no such run. At most `limit` events, and none after
 * `bytes` of data.
 */
export async function selectPage(
  db: Queryable,
  runId: string,
  after: number,
  { limit, bytes }: { limit: number; bytes: number },
): Promise<LogPage | undefined> {
  type Row = { thread_id: string; status: string; kept: boolean } & (
    | StoredEvent
    | { seq: null; event: null; data: null; is_pointer: null }
  );
  const rows = await db.query<Row>(
    `select r.thread_id, r.status, r.events = 'kept' as kept, e.seq, e.event, e.data, e.is_pointer
     from heddle.runs r
     left join lateral (
       select * from (
         select seq, event, data, is_pointer, sum(octet_length(data)) over (order by seq) - octet_length(data) as before
         from heddle.run_events
         where run_id = r.run_id and seq > $2::integer
         order by seq limit $3::integer
       ) page where before < $4::integer
     ) e on true
     where r.run_id = $1::uuid
     order by e.seq`,
    [runId, after, limit, bytes],
  );
  const [first] = rows;
  if (!first) return undefined;
  const events = rows.flatMap(({ seq, event, data, is_pointer }) =>
    seq === null ? [] : [{ seq, event, data, is_pointer }],
  );
  return { threadId: first.thread_id, status: first.status, kept: first.kept, events };
}

/** The newest two root `values` events of a run, newest first: the last may be an interrupt alone. */
export const selectLastValues = (db: Queryable, runId: string) =>
  db.query<StoredEvent>(
    `select e.seq, e.event, e.data, e.is_pointer
     from heddle.runs r join heddle.run_events e on e.run_id = r.run_id
     where r.run_id = $1::uuid and r.events = 'kept' and e.event = 'values'
     order by e.seq desc limit 2`,
    [runId],
  );

/** How far the logs of these runs are; a run that is gone is not there. */
export const selectLogEnds = (db: Queryable, runIds: readonly string[]) =>
  db.query<{ run_id: string; status: string; last: number }>(
    `select r.run_id, r.status,
       coalesce((select e.seq from heddle.run_events e where e.run_id = r.run_id order by e.seq desc limit 1), -1) as last
     from heddle.runs r where r.run_id = any ($1::uuid[])`,
    [runIds],
  );

/** The newest seq of a run, -1 when it has none. */
export async function selectLastSeq(db: Queryable, runId: string): Promise<number> {
  const [row] = await db.query<{ seq: number }>(
    "select coalesce(max(seq), -1) as seq from heddle.run_events where run_id = $1::uuid",
    [runId],
  );
  return row?.seq ?? -1;
}

/** What a graph says may have NUL or half a surrogate pair: PostgreSQL reads such JSON not even for another field. */
const READABLE = `regexp_replace(data, '\\\\u(0000|d[89a-f][0-9a-f]{2})', '\\\\ufffd', 'gi')::json`;

/**
 * The newest event of a run that shows the state of a checkpoint, -1 when none is known to. The state follows the event
 * that names its place.
 */
export async function selectSeqOfCheckpoint(
  db: Queryable,
  runId: string,
  checkpointId: string,
): Promise<number> {
  const [row] = await db.query<{ seq: number }>(
    `select coalesce(max(e.seq), -1) as seq from (
       select seq from heddle.run_events
       where run_id = $1::uuid and is_pointer and data::json ->> 'checkpoint_id' = $2::text
       union all
       select seq from heddle.run_events
       where run_id = $1::uuid and split_part(event, '|', 1) = 'debug'
         and ${READABLE} #>> '{payload,checkpoint,checkpoint_id}' = $2::text
       union all
       select coalesce(state.seq, place.seq) from heddle.run_events place
       left join heddle.run_events state
         on state.run_id = place.run_id and state.seq = place.seq + 1 and split_part(state.event, '|', 1) = 'values'
       where place.run_id = $1::uuid and split_part(place.event, '|', 1) = 'checkpoints'
         and ${READABLE.replace("data", "place.data")} ->> 'id' = $2::text
     ) e`,
    [runId, checkpointId],
  );
  return row?.seq ?? -1;
}
