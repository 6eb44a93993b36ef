// The statements on the messages that PostgreSQL keeps, and on the row that numbers them.
import type { Queryable } from "../db/database.ts";

/** Whose session it is, and its id. */
export interface SessionKey {
  readonly owner: string;
  readonly sessionId: string;
}

/** Writes count only while this is the thread's newest token. */
export interface Fence {
  readonly threadId: string;
  readonly token: string;
}

/** `for key share` waits for a claim under way: only who has the thread's newest token may write. */
const FENCE = `fence as (
  select 1 from heddle.threads
  where thread_id = case when $4::bigint is not null then $3::uuid end and fencing_token = $4::bigint
  for key share
),
allowed as (select 1 where $4::bigint is null or exists (select 1 from fence))`;

const fenced = ({ owner, sessionId }: SessionKey, fence: Fence | undefined) => [
  owner,
  sessionId,
  fence?.threadId ?? null,
  fence?.token ?? null,
];

/**
 * Takes the next numbers, and makes the session when it is not there yet. The row is locked by that till the end of the
 * transaction, so that numbers become visible in their order. No row when the fence is lost, or the session is not kept here.
 */
const TAKE = `${FENCE},
taken as (
  insert into heddle.sessions as s (owner, session_id, message_store, last_seq)
  select $1::text, $2::text, 'postgres', $5::bigint from allowed
  on conflict (owner, session_id) do update
  set last_seq = s.last_seq + excluded.last_seq, updated_at = clock_timestamp()
  where s.message_store = 'postgres'
  returning last_seq
)`;

export interface MessageRow {
  /** SHA-256 of the message's id. */
  readonly digest: Buffer | null;
  readonly json: string;
}

/** Those whose id is there already are left out. */
export const insertMessages = (
  db: Queryable,
  key: SessionKey,
  fence: Fence | undefined,
  rows: readonly MessageRow[],
) =>
  db.query<{ taken: boolean }>(
    `with ${TAKE},
     added as (
       insert into heddle.session_messages (owner, session_id, seq, id_digest, message)
       select $1::text, $2::text, t.last_seq - $5::bigint + m.number, m.digest, m.message
       from unnest($6::bytea[], $7::text[]) with ordinality as m (digest, message, number), taken t
       on conflict (owner, session_id, id_digest) do nothing
     )
     select true as taken from taken`,
    [...fenced(key, fence), rows.length, rows.map(({ digest }) => digest), rows.map(({ json }) => json)],
  );

/** In a transaction, before `deleteMessages`: whoever adds meanwhile comes after. */
export const takeSession = (db: Queryable, key: SessionKey, fence: Fence | undefined) =>
  db.query<{ taken: boolean }>(`with ${TAKE} select true as taken from taken`, [...fenced(key, fence), 0]);

export const selectMessages = (db: Queryable, { owner, sessionId }: SessionKey) =>
  db.query<{ message: string }>(
    `select message from heddle.session_messages
     where owner = $1::text and session_id = $2::text order by seq`,
    [owner, sessionId],
  );

/** All but the newest. */
export const deleteMessages = (db: Queryable, { owner, sessionId }: SessionKey, keep: number) =>
  db.query(
    `delete from heddle.session_messages m
     where m.owner = $1::text and m.session_id = $2::text and m.seq not in (
       select n.seq from heddle.session_messages n
       where n.owner = $1::text and n.session_id = $2::text order by n.seq desc limit $3::bigint
     )`,
    [owner, sessionId, keep],
  );
