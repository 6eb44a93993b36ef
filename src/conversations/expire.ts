// Deletes what clients have had long enough: states of messages whose runs have ended, and notifications. Several
// processes may do it at the same time; one that dies in the middle leaves nothing that the next one does not find.
import type { Queryable } from "../db/database.ts";
import { deleteMessageStates } from "./message-states.sql.ts";
import { deleteNotifications } from "./notifications.sql.ts";

/** Rows of one statement. */
const BATCH = 1_000;

export interface Retention {
  /** After the end of a message's run its state can be read for so long. */
  readonly messageStateSeconds: number;
  /** And a notification after its change. */
  readonly notificationSeconds: number;
}

export async function expireConversations(
  db: Queryable,
  { messageStateSeconds, notificationSeconds }: Retention,
): Promise<void> {
  while ((await deleteMessageStates(db, messageStateSeconds, BATCH)).length === BATCH);
  while ((await deleteNotifications(db, notificationSeconds, BATCH)).length === BATCH);
}
