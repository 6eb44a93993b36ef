// Follows what clients are told of a conversation, from any number on, as long as somebody wants it. A wake-up is a hint;
// the table is the truth.
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import type { Hub } from "../events/hub.ts";
import { openConversation } from "./conversations.sql.ts";
import { type NotificationRow, selectNotifications } from "./notifications.sql.ts";

/** As clients get it. */
export interface Notification {
  /** `connected`: from here on nothing is missed. `expired`: what came before this number is not known any more. */
  readonly type: string;
  readonly thread_id: string;
  /** Grows by one within a conversation. */
  readonly seq: number;
  /** Ids and versions of what to fetch. */
  readonly [id: string]: unknown;
}

interface FollowDeps {
  readonly db: Database;
  readonly hub: Hub;
}

export interface FollowOptions {
  readonly scope: Scope;
  /** The last number that the client has; undefined: only what is new. */
  readonly after?: number | undefined;
  readonly signal: AbortSignal;
}

const PAGE = 500;

/**
 * Yields each notification once, in order, in pages as they come, after one that says where they begin. Returns when
 * `signal` aborts, or when the thread is gone or no longer to be seen.
 */
export async function* followNotifications(
  { db, hub }: FollowDeps,
  threadId: string,
  { scope, after, signal }: FollowOptions,
): AsyncGenerator<readonly Notification[]> {
  // Before the first read: what happens between the read and the subscription would be missed.
  const news = hub.subscribe(threadId);
  const read = (from: number) => selectNotifications(db, threadId, { scope, after: from, limit: PAGE });
  const own = (type: string, seq: number): Notification => ({ type, thread_id: threadId, seq });
  try {
    await openConversation(db, threadId, scope);
    const now = await read(after ?? Number.MAX_SAFE_INTEGER);
    if (!now) return;
    // A number that the conversation does not have is of an earlier thread with this id.
    const isKnown = after === undefined || after <= now.last;
    let last = isKnown ? (after ?? now.last) : now.last;
    yield [own(isKnown ? "connected" : "expired", last)];
    while (!signal.aborted) {
      news.take();
      const page = await read(last);
      if (!page) return;
      const [first] = page.notifications;
      const before = first ? first.seq - 1 : page.last;
      if (before > last) yield [own("expired", before)];
      last = page.notifications.at(-1)?.seq ?? before;
      if (first) yield page.notifications.map((row) => toNotification(threadId, row));
      else await news.changed(signal);
    }
  } finally {
    news.close();
  }
}

const toNotification = (threadId: string, { type, seq, about }: NotificationRow): Notification => ({
  type,
  thread_id: threadId,
  seq,
  ...about,
});
