// The statements on what a conversation has learned. Whoever may not see the thread gets no row.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";
import { storableJson } from "../db/storable-json.ts";
import type { PatchParts } from "../kit/conversation-values.ts";

export interface ConversationRow {
  /** Null until something has happened to the conversation. */
  readonly state_id: string | null;
  readonly thread_id: string;
  readonly values: Record<string, unknown>;
  readonly version: number;
  readonly created_at: Date | null;
  readonly updated_at: Date | null;
  readonly research: ResearchRow | null;
}

/** The newest run that is marked as deep research, as its row and lease say. Times are JSON's. */
export interface ResearchRow {
  readonly run_id: string;
  readonly message_id: string | null;
  readonly status: string;
  readonly crashes: number;
  readonly error: string | null;
  readonly created_at: string;
  readonly started_at: string | null;
  readonly lease_renewed_at: string | null;
  readonly lease_until: string | null;
  readonly finished_at: string | null;
}

/** In one statement, so that the values and the run are of one moment. That somebody follows it is nothing to be seen. */
export const selectConversation = (db: Queryable, threadId: string, scope: Scope) =>
  db.query<ConversationRow>(
    `select c.id as state_id, t.thread_id, coalesce(c.values, '{"objective": ""}') as values,
       coalesce(c.version, 0)::double precision as version, c.created_at, c.updated_at, r.research
     from heddle.threads t
     left join heddle.conversation_states c on c.conversation_id = t.thread_id and c.version > 0
     left join lateral (
       select json_build_object(
         'run_id', r.run_id, 'message_id', coalesce(s.values ->> 'messageId', r.kwargs #>> '{input,messages,-1,id}'), 'status', r.status, 'crashes', r.crashes,
         'error', coalesce(r.error ->> 'message', r.cancel_reason), 'created_at', r.created_at,
         'started_at', r.stream_started_at, 'lease_renewed_at', r.lease_renewed_at, 'lease_until', r.lease_until,
         'finished_at', r.finished_at
       ) as research
       from heddle.runs r left join heddle.states s on s.id = r.run_id
       where r.thread_id = t.thread_id and r.metadata -> 'isDeepResearch' = 'true'
       order by r.run_number desc limit 1
     ) r on true
     where t.thread_id = $1::uuid and ${inScope(2, "t.metadata")}`,
    [threadId, scope],
  );

/** From now on what happens to the thread's runs is told. */
export const openConversation = (db: Queryable, threadId: string, scope: Scope) =>
  db.query(
    `with thread as (
       select thread_id from heddle.threads where thread_id = $1::uuid and ${inScope(2)} for key share
     )
     insert into heddle.conversation_states (conversation_id) select thread_id from thread
     where not exists (select 1 from heddle.conversation_states where conversation_id = $1::uuid)
     on conflict (conversation_id) do nothing`,
    [threadId, scope],
  );

export interface PatchedRow {
  /** After the last of the changes. Null: the version was another one, or the token is not the thread's newest. */
  readonly version: number | null;
  readonly state_id: string | null;
  /** Whether the token, if there is one, is the thread's newest. */
  readonly held: boolean;
}

export interface PatchStatement {
  readonly threadId: string;
  readonly scope?: Scope;
  readonly parts: PatchParts;
  /** How many changes these are: each has a version and a notification. */
  readonly count: number;
  /** Only at one of these versions; null: at any. */
  readonly versions: readonly number[] | null;
  /** The run that writes, and its token. */
  readonly run?: { readonly runId: string; readonly token: string } | undefined;
}

/**
 * Merges changes and tells of each. `for key share` on the thread comes first: a claim of the thread's run, or its deletion,
 * is before or after. A thread that is kept for a time is kept that long from now. The conversation's row, which comes
 * last, makes writers wait for each other; each merges into what the last has left.
 */
export const patchConversation = (
  db: Queryable,
  { threadId, scope, parts, count, versions, run }: PatchStatement,
) =>
  db.query<PatchedRow>(
    `with thread as (
       select thread_id, ($7::bigint is null or fencing_token = $7::bigint) as held
       from heddle.threads where thread_id = $1::uuid and ${inScope(2)} for key share
     ),
     used as (
       update heddle.threads t set updated_at = clock_timestamp()
       from thread where t.thread_id = thread.thread_id and thread.held and t.ttl_minutes is not null
       returning t.thread_id
     ),
     patched as (
       insert into heddle.conversation_states as c (conversation_id, values, version, last_notification)
       select $1::uuid, heddle.merge_values('{"objective": ""}', $3::jsonb, $4::jsonb, $5::text[]), $9::integer, $9::integer
       from thread left join used on true
       where held and ($6::bigint[] is null or 0 = any ($6::bigint[])
         or exists (select 1 from heddle.conversation_states e where e.conversation_id = $1::uuid))
       on conflict (conversation_id) do update
       set values = heddle.merge_values(c.values, $3::jsonb, $4::jsonb, $5::text[]), version = c.version + $9::integer,
         last_notification = c.last_notification + $9::integer, updated_at = clock_timestamp()
       where $6::bigint[] is null or c.version = any ($6::bigint[])
       returning c.id, c.version, c.last_notification
     ),
     told as (
       insert into heddle.notifications (conversation_id, seq, type, about)
       select $1::uuid, last_notification - back, 'state:updated', jsonb_strip_nulls(
         jsonb_build_object('state_id', id, 'version', version - back, 'run_id', $8::uuid))
       from patched, generate_series(0, $9::integer - 1) back
     )
     select patched.version::double precision as version, patched.id as state_id, thread.held
     from thread left join patched on true`,
    [
      threadId,
      scope,
      toJsonb(parts.replaced),
      toJsonb(parts.appended),
      parts.cleared,
      versions,
      run?.token ?? null,
      run?.runId ?? null,
      count,
    ],
  );

/** A graph may write a text that PostgreSQL cannot store. */
export const toJsonb = (value: object) => storableJson(JSON.stringify(value));
