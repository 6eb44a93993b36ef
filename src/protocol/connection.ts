// A connection that carries commands one way and answers and frames the other, as a WebSocket does. Its subscriptions
// share one order: a frame is sent once, after all that came before it, whoever of them wants it.
import { v7 as uuidV7 } from "uuid";
import { type Filter, matches, needsStates } from "./channels.ts";
import { type Command, readMeta, runCommand } from "./commands.ts";
import type { ProtocolDeps, Sender } from "./deps.ts";
import { followThread } from "./follow-thread.ts";
import { toFrameJson } from "./frame.ts";
import { parse, subscribe, unsubscribe } from "./params.ts";
import { ProtocolError, type Success } from "./responses.ts";

export interface ConnectionOptions {
  readonly sender: Sender;
  readonly threadId: string;
  /** Sends one text. Resolves when there is room for more. */
  readonly send: (text: string) => Promise<void>;
  /** The connection is gone. */
  readonly signal: AbortSignal;
}

export interface Connection {
  /** Sends the frames that are subscribed to, until the connection is gone. */
  run(): Promise<void>;
  /** @throws ProtocolError, AppError */
  handle(command: Command, answer: (success: Success) => Promise<void>): Promise<void>;
}

interface Subscription {
  readonly filter: Filter;
  /** What the connection has sent before it subscribed, it is still to get. */
  isNew: boolean;
}

/** Subscriptions of one connection; a client of the SDK has less than ten. */
const MAX_SUBSCRIPTIONS = 200;

export function createConnection(
  deps: ProtocolDeps,
  { sender, threadId, send, signal }: ConnectionOptions,
): Connection {
  const subscriptions = new Map<string, Subscription>();
  /** The last frame that has been looked at; all of them have been sent to those who wanted them. */
  let position: number | undefined;
  let round = new AbortController();

  const sendFrames = async (
    wanted: readonly Subscription[],
    options: { since?: number | undefined; through?: number; signal: AbortSignal },
    passed: (seq: number) => void,
  ) => {
    const scope = await sender.check("threads", "read", { thread_id: threadId });
    const withoutStates = !wanted.some(({ filter }) => needsStates(filter));
    for await (const page of followThread(deps, threadId, { ...options, scope, withoutStates })) {
      for (const frame of page) {
        if (signal.aborted) return;
        if (wanted.some(({ filter }) => matches(filter, frame))) await send(toFrameJson(frame));
        passed(frame.seq);
        // Who subscribes now comes before what follows.
        if (options.signal.aborted) return;
      }
    }
  };

  /** How many frames, up to this one, a new subscription is going to get first. */
  const countReplay = async (filter: Filter, through: number): Promise<number> => {
    const scope = await sender.check("threads", "read", { thread_id: threadId });
    let count = 0;
    for await (const page of followThread(deps, threadId, { through, signal, scope, withoutStates: true }))
      count += page.filter((frame) => matches(filter, frame)).length;
    return count;
  };

  return {
    async run() {
      while (!signal.aborted) {
        round = new AbortController();
        const fresh = [...subscriptions.values()].filter(({ isNew }) => isNew);
        for (const subscription of fresh) subscription.isNew = false;
        if (fresh.length > 0 && position !== undefined) {
          await sendFrames(fresh, { through: position, signal }, () => undefined);
        }
        const until = AbortSignal.any([signal, round.signal]);
        if (subscriptions.size === 0) await aborted(until);
        else {
          await sendFrames(
            [...subscriptions.values()].filter(({ isNew }) => !isNew),
            { since: position, signal: until },
            (seq) => {
              position = seq;
            },
          );
        }
      }
    },

    async handle(command, answer) {
      const { id, method, params } = command;
      if (method !== "subscription.subscribe" && method !== "subscription.unsubscribe") {
        await answer(await runCommand(deps, sender, threadId, command));
        return;
      }
      const meta = await readMeta(deps, sender, threadId);
      if (method === "subscription.subscribe") {
        const filter = parse(subscribe, method, params);
        if (subscriptions.size >= MAX_SUBSCRIPTIONS) {
          throw new ProtocolError(
            "invalid_argument",
            `A connection has at most ${MAX_SUBSCRIPTIONS} subscriptions.`,
          );
        }
        const subscription_id = uuidV7();
        // The answer goes first: the client knows the subscription when its frames come.
        const replayed_events = await countReplay(filter, meta.applied_through_seq);
        await answer({ type: "success", id, result: { subscription_id, replayed_events }, meta });
        subscriptions.set(subscription_id, { filter, isNew: true });
      } else {
        const { subscription_id } = parse(unsubscribe, method, params);
        if (!subscriptions.delete(subscription_id)) {
          throw new ProtocolError("no_such_subscription", `There is no subscription ${subscription_id}.`);
        }
        await answer({ type: "success", id, result: {}, meta });
      }
      round.abort();
    },
  };
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  signal.addEventListener("abort", () => resolve(), { once: true });
  await promise;
}
