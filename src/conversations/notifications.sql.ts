// The statements on what clients are told: ids and versions of what has changed, numbered within a conversation.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";

export interface NotificationRow {
  readonly seq: number;
  readonly type: string;
  readonly about: Record<string, unknown>;
}

export interface NotificationPage {
  /** The newest number that was given; 0: nothing has happened yet. */
  readonly last: number;
  readonly notifications: readonly NotificationRow[];
}

/** What follows `after`; undefined when the thread is gone, or not to be seen. */
export async function selectNotifications(
  db: Queryable,
  threadId: string,
  { scope, after, limit }: { scope: Scope; after: number; limit: number },
): Promise<NotificationPage | undefined> {
  const [row] = await db.query<NotificationPage>(
    `select coalesce(c.last_notification, 0)::double precision as last, coalesce((
       select json_agg(json_build_object('seq', n.seq, 'type', n.type, 'about', n.about) order by n.seq)
       from (
         select * from heddle.notifications n
         where n.conversation_id = t.thread_id and n.seq > $3::double precision::bigint
         order by n.seq limit $4::integer
       ) n
     ), '[]') as notifications
     from heddle.threads t left join heddle.conversation_states c on c.conversation_id = t.thread_id
     where t.thread_id = $1::uuid and ${inScope(2, "t.metadata")}`,
    [threadId, scope, after, limit],
  );
  return row;
}

/** The newest number of each; no row for a conversation to which nothing has happened. */
export const selectLastNotifications = (db: Queryable, threadIds: readonly string[]) =>
  db.query<{ thread_id: string; version: string }>(
    `select conversation_id as thread_id, last_notification as version
     from heddle.conversation_states where conversation_id = any ($1::uuid[])`,
    [threadIds],
  );

/** From a run that still holds the thread's newest token; no row otherwise. */
export const insertNotification = (
  db: Queryable,
  { threadId, token, type, about }: { threadId: string; token: string; type: string; about: object },
) =>
  db.query(
    `with thread as (
       select thread_id from heddle.threads where thread_id = $1::uuid and fencing_token = $2::bigint for key share
     )
     select heddle.notify_conversation(thread_id, $3::text, $4::jsonb) as told from thread`,
    [threadId, token, type, about],
  );

/** `skip locked`: another process may be at it as well. */
export const deleteNotifications = (db: Queryable, seconds: number, limit: number) =>
  db.query(
    `delete from heddle.notifications where ctid = any (array(
       select ctid from heddle.notifications
       where created_at < now() - make_interval(secs => $1::double precision)
       order by created_at limit $2::integer for update skip locked
     )) returning 1`,
    [seconds, limit],
  );
