// Reads a run's events from any point to its end: from memory while reader and worker share the process, from the
// log otherwise. A wake-up is a hint; the log is the truth.
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import { type EventRow, hasEnded, type LogPage, selectLastSeq, selectPage } from "./event-log.sql.ts";
import type { Hub } from "./hub.ts";
import { readEvent, readLogged } from "./stored-events.ts";
import { toWireJson } from "./wire-json.ts";

/** What one reader may have in memory: events, bytes as they are stored, characters as they are sent. */
const PAGE = { limit: 500, bytes: 64 * 1024 };
const PAGE_CHARS = 64 * 1024;

export interface FollowDeps {
  readonly db: Database;
  readonly hub: Hub;
  readonly checkpointer: Checkpointer;
}

export interface FollowOptions {
  /**
   * The last seq the reader has; -1 reads from the start, undefined only what comes from now on. A seq that the run does
   * not have is another run's: then the reader has nothing, and gets all.
   */
  readonly after?: number;
  /** The run was taken by this process a moment ago: there is nothing to read yet. */
  readonly isNew?: boolean;
  /** The caller waits for the end: in place of what has to be read from the log, an empty page is yielded. */
  readonly unread?: boolean;
  /**
   * A stored state is not rebuilt: in its place comes what of it is in the log itself. Of all events, or of those of
   * which the function says so; it is asked for each in order, by its name.
   */
  readonly withoutStates?: boolean | ((event: string) => boolean);
  readonly signal?: AbortSignal;
}

/** An event of the log, or, without a seq, one that tells the reader why there are no more. */
export type FollowedEvent =
  | EventRow
  | {
      readonly seq?: undefined;
      readonly event: string;
      readonly data: string;
      readonly pointer?: undefined;
      readonly lost?: undefined;
    };

/**
 * Yields each event once, in order, in pages as they come; returns when the run has ended and all is read.
 * A run that is gone (its thread was deleted) returns as well; one whose events are deleted ends with an `error` event.
 */
export async function* follow(
  { db, hub, checkpointer }: FollowDeps,
  runId: string,
  { after, isNew = false, unread = false, withoutStates = false, signal }: FollowOptions,
): AsyncGenerator<readonly FollowedEvent[]> {
  // Before the first read: an event that is committed between the read and the subscription would be missed.
  const subscription = hub.subscribe(runId, { waits: unread });
  try {
    let last = await startAfter(db, runId, after);
    let isBehind = !isNew;
    while (!signal?.aborted) {
      const fromMemory = subscription.take().filter((event) => event.seq > last);
      if (fromMemory[0]?.seq === last + 1) {
        last = fromMemory.at(-1)?.seq ?? last;
        yield fromMemory;
        continue;
      }
      const endsAt = subscription.endsAt();
      if (endsAt === last) return;
      isBehind ||= subscription.isBehind(last) || fromMemory.length > 0 || endsAt !== undefined;
      if (!isBehind) {
        await subscription.changed(signal);
        continue;
      }
      isBehind = false;
      const page = await selectPage(db, runId, last, PAGE);
      if (unread) yield [];
      if (page && !page.kept) {
        yield [expired(page)];
        return;
      }
      if (page && page.events.length > 0) {
        last = page.events.at(-1)?.seq ?? last;
        isBehind = true;
        if (!unread) yield* inParts(checkpointer, page, withoutStates);
      } else if (!page || hasEnded(page.status)) return;
    }
  } finally {
    subscription.close();
  }
}

async function startAfter(db: Database, runId: string, after: number | undefined): Promise<number> {
  if (after === -1) return -1;
  const newest = await selectLastSeq(db, runId);
  if (after === undefined) return newest;
  return after <= newest ? after : -1;
}

/** The states of a page can be many times larger than what is stored of them. */
async function* inParts(
  checkpointer: Checkpointer,
  { threadId, events }: LogPage,
  withoutStates: FollowOptions["withoutStates"],
): AsyncGenerator<readonly EventRow[]> {
  let part: EventRow[] = [];
  let chars = 0;
  for (const stored of events) {
    const isLogged = typeof withoutStates === "function" ? withoutStates(stored.event) : withoutStates;
    const event = isLogged ? readLogged(stored) : await readEvent(checkpointer, threadId, stored);
    part.push(event);
    chars += event.data.length;
    if (chars < PAGE_CHARS) continue;
    yield part;
    part = [];
    chars = 0;
  }
  if (part.length > 0) yield part;
}

const expired = ({ status }: LogPage): FollowedEvent => ({
  event: "error",
  data: toWireJson({
    error: "EventsExpired",
    message: `The run has ended with status ${status}, and its events have been deleted since. The thread's state is still there.`,
  }),
});
