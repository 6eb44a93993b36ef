// The statements on the rows of sessions. What they say of a session's kind never changes.
import type { Queryable } from "../db/database.ts";
import type { Fence, SessionKey } from "./messages.sql.ts";

/** One of the two is null. */
export interface SessionRow {
  readonly message_store: string | null;
  readonly service_thread_id: string | null;
}

export const selectSession = (db: Queryable, { owner, sessionId }: SessionKey) =>
  db.query<SessionRow>(
    `select message_store, service_thread_id from heddle.sessions
     where owner = $1::text and session_id = $2::text`,
    [owner, sessionId],
  );

/** No row when it is there already. */
export const insertSession = (db: Queryable, { owner, sessionId }: SessionKey, row: SessionRow) =>
  db.query<SessionRow>(
    `insert into heddle.sessions (owner, session_id, message_store, service_thread_id)
     values ($1::text, $2::text, $3::text, $4::text)
     on conflict do nothing returning message_store, service_thread_id`,
    [owner, sessionId, row.message_store, row.service_thread_id],
  );

/** No row when the fence is lost. `for key share` waits for a claim that is under way. */
export const moveServiceThread = (
  db: Queryable,
  { owner, sessionId }: SessionKey,
  id: string,
  fence: Fence | undefined,
) =>
  db.query<{ session_id: string }>(
    `with fence as (
       select 1 from heddle.threads
       where thread_id = case when $5::bigint is not null then $4::uuid end and fencing_token = $5::bigint
       for key share
     )
     update heddle.sessions set service_thread_id = $3::text, updated_at = clock_timestamp()
     where owner = $1::text and session_id = $2::text and service_thread_id is not null
       and ($5::bigint is null or exists (select 1 from fence))
     returning session_id`,
    [owner, sessionId, id, fence?.threadId ?? null, fence?.token ?? null],
  );

export const deleteSession = (db: Queryable, { owner, sessionId }: SessionKey) =>
  db.query<SessionRow>(
    `with messages as (
       delete from heddle.session_messages where owner = $1::text and session_id = $2::text
     )
     delete from heddle.sessions where owner = $1::text and session_id = $2::text
     returning message_store, service_thread_id`,
    [owner, sessionId],
  );
