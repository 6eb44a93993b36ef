// Looks after readers of something that has a version, whom nobody has told anything: one statement for all that is read
// here. Wake-ups only make it faster.
import type { Logger } from "pino";
import type { Hub } from "./hub.ts";
import { lookAgain } from "./look-again.ts";

/** Looks until readers are announced again: other servers forget them after 15 seconds. */
const ANNOUNCE_EVERY = 10;

interface WatchOptions {
  readonly hub: Hub;
  /** What is there of these, each with a text that changes whenever a reader should look. */
  readonly select: (
    threadIds: readonly string[],
  ) => Promise<readonly { readonly thread_id: string; readonly version: string }[]>;
  /** Tells the other servers that somebody reads the thread here. */
  readonly announce: (threadId: string) => void;
  readonly log: Logger;
  /** What a failed look means. */
  readonly failure: string;
}

/** Looks until the returned function is called. */
export function watchVersions({ hub, select, announce, log, failure }: WatchOptions): () => void {
  const seen = new Map<string, { version: string | undefined; look: number }>();
  let looks = 0;

  const look = async () => {
    const threadIds = hub.runIds();
    looks++;
    for (const threadId of seen.keys()) if (!threadIds.includes(threadId)) seen.delete(threadId);
    if (threadIds.length === 0) return;
    const rows = await select(threadIds);
    const versions = new Map(rows.map(({ thread_id, version }) => [thread_id, version]));
    for (const threadId of threadIds) {
      const before = seen.get(threadId);
      const version = versions.get(threadId);
      const isTime = before === undefined || looks - before.look >= ANNOUNCE_EVERY;
      seen.set(threadId, { version, look: isTime ? looks : before.look });
      // The first time too: it may have changed, or be gone, since the reader has looked.
      if (before === undefined || version !== before.version) hub.wake(threadId);
      if (isTime) announce(threadId);
    }
  };

  return lookAgain(look, { log, failure });
}
