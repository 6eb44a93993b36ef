// The statements on what one message needs. Its row is made when its run is claimed, if the thread is a conversation by then
// (migrations/0010_conversations.sql), or by the first that the run writes.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";
import type { PatchParts } from "../kit/conversation-values.ts";
import { toJsonb } from "./conversations.sql.ts";

export interface MessageStateRow {
  /** The run's id. */
  readonly state_id: string;
  readonly thread_id: string;
  readonly values: Record<string, unknown>;
  readonly version: number;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/**
 * By the message's own id, or by its run's; the newest, since a message can be sent twice. Where nobody has written one it
 * is what the run says, from its start until `seconds` after its end.
 */
export const selectMessageState = (
  db: Queryable,
  threadId: string,
  { messageId, scope, seconds }: { messageId: string; scope: Scope; seconds: number },
) =>
  db.query<MessageStateRow>(
    `select r.run_id as state_id, r.thread_id, coalesce(s.values, heddle.message_values(r)) as values,
       coalesce(s.version, 1)::double precision as version,
       coalesce(s.created_at, r.stream_started_at, r.created_at) as created_at,
       coalesce(s.updated_at, r.stream_started_at, r.created_at) as updated_at
     from heddle.runs r
     join heddle.threads t on t.thread_id = r.thread_id and ${inScope(3, "t.metadata")}
     left join heddle.states s on s.id = r.run_id
     where r.thread_id = $1::uuid and r.attempt > 0 and case
       when s.id is not null then s.values ->> 'messageId' = $2::text or r.run_id::text = $2::text
       when r.finished_at < now() - make_interval(secs => $4::double precision) then false
       else r.run_id::text = $2::text or r.kwargs #>> '{input,messages,-1,id}' = $2::text end
     order by r.run_number desc limit 1`,
    [threadId, messageId, scope, seconds],
  );

/** The run whose message it is, while it holds the thread's newest token. */
export interface Writer {
  readonly threadId: string;
  readonly runId: string;
  readonly token: string;
}

/**
 * Writes what `values` makes of the state, as SQL. No row when the token is not the newest. `for key share` waits for a
 * claim that is under way.
 */
const writeState = (values: (held: string) => string, kind: string, more = "") => `
  with thread as (
    select thread_id from heddle.threads where thread_id = $1::uuid and fencing_token = $3::bigint for key share
  ),
  first as (
    select case when exists (select 1 from heddle.states where id = $2::uuid) then '{}'
      else heddle.message_values(r) end as values
    from thread join heddle.runs r on r.thread_id = thread.thread_id and r.run_id = $2::uuid
  ),
  written as (
    insert into heddle.states as s (id, conversation_id, values, version)
    select $2::uuid, $1::uuid, ${values("first.values")}, 2 from first
    on conflict (id) do update
    set values = ${values("s.values")}, version = s.version + 1, updated_at = clock_timestamp()
    returning s.id, s.values, s.version
  )${more}
  select version::double precision as version, heddle.notify_conversation($1::uuid, '${kind}', jsonb_build_object(
    'run_id', id, 'message_id', values -> 'messageId', 'version', version)) as told
  from written`;

/** A run that says of its message that it is deep research is marked as such, unless the thread has another one. */
const PATCH = writeState(
  (held) => `heddle.merge_values(${held}, $4::jsonb, '{}', $5::text[])`,
  "message:updated",
  `,
  marked as (
    update heddle.runs r set metadata = r.metadata || '{"isDeepResearch": true}'
    from written
    where r.run_id = written.id and $4::jsonb @> '{"isDeepResearch": true}'
      and r.metadata -> 'isDeepResearch' is distinct from 'true'
      and not exists (
        select 1 from heddle.runs other
        where other.thread_id = r.thread_id and other.run_id <> r.run_id and other.finished_at is null
          and other.cancel_action is null and other.metadata -> 'isDeepResearch' = 'true')
  )`,
);

export const patchMessageState = (
  db: Queryable,
  { threadId, runId, token }: Writer,
  { replaced, cleared }: PatchParts,
) => db.query<{ version: number }>(PATCH, [threadId, runId, token, toJsonb(replaced), cleared]);

/** A step that starts again has no end any more. */
const MARK = writeState(
  (
    held,
  ) => `${held} || jsonb_build_object('steps', coalesce(${held} -> 'steps', '{}') || jsonb_build_object($4::text,
    case when $5::text = 'end' then coalesce(${held} #> array['steps', $4::text], '{}') else '{}' end
      || jsonb_build_object($5::text, floor(extract(epoch from clock_timestamp()) * 1000))))`,
  "job:progress",
);

export const markStep = (
  db: Queryable,
  { threadId, runId, token }: Writer,
  { name, edge }: { name: string; edge: "start" | "end" },
) => db.query<{ version: number }>(MARK, [threadId, runId, token, name, edge]);

/** Those of runs that ended more than `seconds` ago. `skip locked`: another process may be at it as well. */
export const deleteMessageStates = (db: Queryable, seconds: number, limit: number) =>
  db.query(
    `delete from heddle.states where id = any (array(
       select s.id from heddle.states s join heddle.runs r on r.run_id = s.id
       where s.created_at < now() - make_interval(secs => $1::double precision)
         and r.finished_at < now() - make_interval(secs => $1::double precision)
       order by s.created_at limit $2::integer for update of s skip locked
     )) returning 1`,
    [seconds, limit],
  );
