// The calls of one run from its first event to its last, whoever streams it: begun, retried, ended. Every call that is open
// at the end gets one, and a warning that says why.

import { isFields } from "../events/fields.ts";
import { createCalls, type Status } from "./calls.ts";
import { type Chunk, toDebugged } from "./chunk.ts";
import { createPlaces, toError } from "./places.ts";
import { createChunkReader } from "./read-chunks.ts";
import { createEventTranslator } from "./read-events.ts";
import type { Said } from "./schema.ts";

/** How a run has ended. */
export interface Terminal {
  readonly status: "success" | "error" | "cancelled";
  /** As it was thrown, or is stored. */
  readonly error?: unknown;
}

export interface RunCalls {
  begin(input: unknown): void;
  read(chunk: Chunk): void;
  /** Another attempt begins what was under way anew. */
  retry(attempt: number): void;
  /** About the run as a whole. */
  warn(name: string, message: string, more?: Record<string, unknown>): void;
  /** Why nothing more can be told. */
  fail(error: unknown): void;
  finish(terminal: Terminal): void;
}

interface RunOptions {
  readonly runId: string;
  /** Name of the root graph. */
  readonly agent: string;
  /** It goes on from a checkpoint of an earlier run. */
  readonly isResumed: boolean;
  /**
   * Whether `streamEvents` tells of models, tools and tasks, and not the graph's own stream, whose chunks may come beside
   * it.
   */
  readonly fromEvents: boolean;
  readonly emit: (said: Said) => void;
}

const TOLD_BY_EVENTS: ReadonlySet<string> = new Set(["messages", "tools", "tasks", "updates"]);

const ENDS: Record<Exclude<Status, "success">, { name: string; message: string }> = {
  error: { name: "RunFailed", message: "The run has failed before the call's end." },
  interrupted: { name: "Interrupted", message: "The run waits for an answer." },
  cancelled: { name: "Cancelled", message: "The run was stopped before the call's end." },
};

export function createRunCalls({ runId, agent, isResumed, fromEvents, emit }: RunOptions): RunCalls {
  const calls = createCalls(runId, emit);
  const places = createPlaces(calls, agent);
  const reader = createChunkReader({ calls, places, isResumed });
  const translate = createEventTranslator();

  const tellError = (thrown: unknown) => {
    const open = calls.openCalls().filter(({ kind }) => kind === "graph");
    // Where graphs are open side by side, nobody says in which of them it was.
    const isChain = open.every(({ parent }, place) => place === 0 || contains(open[place - 1], parent));
    const call = (isChain ? open.at(-1) : undefined) ?? places.root();
    calls.say(call, "error", toError(thrown));
  };

  const abandonAll = (why: { name: string; message: string; status: Status }) => {
    for (const call of calls.openCalls().toReversed()) {
      if (call.parent !== undefined && calls.isOpen(call)) calls.abandon(call, why);
    }
  };

  /** The mode `debug` says what `tasks` says, and more: it is only read without it. */
  let hasTasks = false;
  const readOne = (chunk: Chunk) => {
    if (chunk.mode === "error") return tellError(chunk.read());
    if (chunk.mode === "debug") return hasTasks ? undefined : toDebugged(chunk).forEach(reader.read);
    hasTasks ||= chunk.mode === "tasks";
    reader.read(chunk);
  };

  return {
    begin: (input) =>
      void places.openRoot({ input: input ?? null, ...(isResumed ? { meta: { resumed: true } } : {}) }),
    read(chunk) {
      if (chunk.mode !== "events") {
        if (!fromEvents || !TOLD_BY_EVENTS.has(chunk.mode)) readOne(chunk);
        return;
      }
      if (!fromEvents) return;
      const event = chunk.read();
      if (isFields(event)) for (const told of translate(event)) readOne(told);
    },
    retry(attempt) {
      const message = `Attempt ${attempt} begins anew what was under way.`;
      abandonAll({ name: "NewAttempt", message, status: "cancelled" });
      calls.say(places.root(), "warning", { name: "NewAttempt", message, attempt });
      reader.retry();
    },
    warn: (name, message, more = {}) => calls.say(places.root(), "warning", { name, message, ...more }),
    fail: (error) => calls.say(places.root(), "error", toError(error)),
    finish({ status, error }) {
      reader.flush(status === "success");
      if (status === "error") tellError(error);
      const isWaiting = status === "success" && reader.isInterrupted();
      const end = isWaiting ? "interrupted" : status;
      if (end !== "success") abandonAll({ ...ENDS[end], status: end });
      calls.close(places.root(), { status: end });
    },
  };
}

/** Whether a graph is the call above, or what that is part of. */
function contains(graph: { id: string } | undefined, above: { id: string; parent: unknown } | undefined) {
  for (let call = above; call; call = call.parent as typeof above) if (call.id === graph?.id) return true;
  return false;
}
