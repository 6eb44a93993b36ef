// Wake-ups between the servers of one database: "look now" instead of "look at the next poll". A hint may be lost, come
// twice or come late; whoever gets one reads the truth in PostgreSQL. It names what has changed, nothing else.
import { randomUUID } from "node:crypto";
import type { Logger } from "pino";

/** `queue`: there is a run to claim. `cancel`: one is to stop. `follow`: somebody reads it. `run`: it has news. */
type Hint =
  | { readonly kind: "queue" }
  | { readonly kind: "cancel" | "follow" | "run"; readonly runId: string };

/** Carries short texts to all servers, the sender too; says nothing about those it loses. */
interface Channel {
  publish(text: string): Promise<void>;
  close(): Promise<void>;
}

export type OpenChannel = (onMessage: (text: string) => void) => Channel;

/** What a server does at hints from others. */
interface Listener {
  /** There may be a run to claim. */
  queue(): void;
  /** A run may have to stop. */
  cancel(runId: string): void;
  /** A run has new events, or has ended. */
  run(runId: string): void;
}

export interface Wakeups {
  send(hint: Hint): void;
  /** A run of this server has news: told to others if one of them reads it. */
  changed(runId: string): void;
  close(): Promise<void>;
}

/** Hints of this time go together. */
const GATHER_MS = 20;
/** How long a run counts as read elsewhere after a `follow`; readers repeat it more often. */
const FOLLOWED_MS = 15_000;
/** PostgreSQL takes less than 8,000 bytes in one notification, 36 of them are a run's id. */
const HINTS_PER_MESSAGE = 100;

export function createWakeups({
  open,
  listener,
  log,
}: {
  open: OpenChannel;
  listener: Listener;
  log: Logger;
}): Wakeups {
  // What this server tells the others it knows already.
  const sender = `from:${randomUUID()}`;
  const waiting = new Set<string>();
  const followed = new Map<string, number>();
  let timer: NodeJS.Timeout | undefined;

  const hear = (text: string) => {
    const words = text.split(" ");
    if (words[0] === sender) return;
    for (const hint of words.map(parse)) {
      if (hint?.kind === "queue") listener.queue();
      else if (hint?.kind === "cancel") listener.cancel(hint.runId);
      else if (hint?.kind === "run") listener.run(hint.runId);
      else if (hint) followed.set(hint.runId, performance.now() + FOLLOWED_MS);
    }
  };
  const channel = open(hear);

  const flush = () => {
    timer = undefined;
    const hints = [...waiting];
    waiting.clear();
    while (hints.length > 0) {
      channel
        .publish([sender, ...hints.splice(0, HINTS_PER_MESSAGE)].join(" "))
        .catch((error: unknown) => log.debug({ err: error }, "a wake-up was not sent"));
    }
  };

  const send = (hint: Hint) => {
    waiting.add(hint.kind === "queue" ? hint.kind : `${hint.kind}:${hint.runId}`);
    timer ??= setTimeout(flush, GATHER_MS);
  };

  return {
    send,
    changed(runId) {
      const until = followed.get(runId);
      if (until === undefined) return;
      if (until > performance.now()) send({ kind: "run", runId });
      else followed.delete(runId);
    },
    async close() {
      clearTimeout(timer);
      flush();
      await channel.close();
    },
  };
}

const UUID = /^[0-9a-f-]{36}$/;

/** Undefined for what is no hint: anybody who has the database or Redis can send something. */
function parse(text: string): Hint | undefined {
  const [kind, runId = ""] = text.split(":");
  if (kind === "queue") return { kind };
  if ((kind === "cancel" || kind === "follow" || kind === "run") && UUID.test(runId)) return { kind, runId };
  return undefined;
}
