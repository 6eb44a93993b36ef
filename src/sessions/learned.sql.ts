// The statements on what the conversation of a thread has learned, which goes with the thread to another Heddle.
import type { Queryable } from "../db/database.ts";
import { storableJson } from "../db/storable-json.ts";

/** No row when nobody has changed the conversation. */
export const selectLearned = (db: Queryable, threadId: string) =>
  db.query<{ values: Record<string, unknown> }>(
    "select values from heddle.conversation_states where conversation_id = $1::uuid and version > 0",
    [threadId],
  );

/** At version 1, told to who follows it. One that has learned something already stays as it is: it may have gone on. */
export const insertLearned = (db: Queryable, threadId: string, values: object) =>
  db.query(
    `with learned as (
       insert into heddle.conversation_states as c (conversation_id, values, version, last_notification)
       values ($1::uuid, $2::jsonb, 1, 1)
       on conflict (conversation_id) do update
       set values = excluded.values, version = 1, last_notification = c.last_notification + 1,
         updated_at = clock_timestamp()
       where c.version = 0
       returning id, last_notification
     )
     insert into heddle.notifications (conversation_id, seq, type, about)
     select $1::uuid, last_notification, 'state:updated', jsonb_build_object('state_id', id, 'version', 1)
     from learned`,
    [threadId, storableJson(JSON.stringify(values))],
  );
