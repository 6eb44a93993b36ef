// The calls of a run: graphs, tools and models at work, one inside the other. Who they are follows from the run and from
// their place in it alone, so that a retry, a replay and another server name them alike. No call stays without its end.
import { v5 as uuidV5, validate } from "uuid";
import { type Fields, isFields } from "../events/fields.ts";
import { createOutcome, type Outcome, type Result } from "./outcome.ts";
import type { EnvelopeType, Said } from "./schema.ts";

/** A run whose id is no UUID is in here. */
const RUNS = "4d8b1f0c-6b0e-5f3a-9d43-6d0a4c1c9f7e";

export type Status = "success" | "error" | "interrupted" | "cancelled";

export interface Call {
  readonly kind: "graph" | "tool" | "model";
  readonly id: string;
  readonly parent: Call | undefined;
  readonly agent: string;
  /** What interfaces show it by. */
  readonly name: string;
  /** LangGraph's namespace: of a graph its own, of a tool and a model that of the task that runs it. */
  readonly path: readonly string[];
  /** Of a graph. */
  readonly outcome: Outcome | undefined;
  /** Of a model: what it has said of its end so far. */
  readonly said: { usage?: Fields | undefined; reason?: string | undefined };
  seq: number;
}

interface CallOptions {
  readonly parent: Call | undefined;
  readonly agent: string;
  readonly name: string;
  readonly path: readonly string[];
}

export interface Calls {
  /** Begins a call, again from 1 when it has been there before. `key`: what tells it from others at its path. */
  open(kind: Call["kind"], key: string, options: CallOptions, payload: Fields): Call;
  /** Something of a call; without a type it only counts. */
  say(call: Call, type?: EnvelopeType, payload?: Fields): void;
  /** Ends a call, and before it, with a warning, whatever is still open in it. */
  close(call: Call, end: { status: Status; payload?: Fields }): void;
  /** Ends a call, and what is in it, of whose end nothing is known. `why` is a sentence. */
  abandon(call: Call, why: { name: string; message: string; status: Status }): void;
  /** Those that have not ended, in the order in which they began. */
  openCalls(): readonly Call[];
  isOpen(call: Call): boolean;
}

const ENDLESS = {
  name: "MissingEnd",
  message: "What the call is part of has ended without a word of the call's own end.",
};

export function createCalls(runId: string, emit: (said: Said) => void): Calls {
  const namespace = validate(runId) ? runId : uuidV5(runId, RUNS);
  const open = new Set<Call>();
  let traceId: string | undefined;

  const say: Calls["say"] = (call, type, payload = {}) => {
    const seq = ++call.seq;
    if (type === undefined) return;
    const { id, parent, agent } = call;
    traceId ??= id;
    emit({
      type,
      trace_id: traceId,
      run_id: runId,
      parent_id: parent?.id ?? null,
      call_id: id,
      seq,
      agent,
      payload,
    });
  };

  const end = (call: Call, ended: Fields) => {
    open.delete(call);
    const { usage } = call.said;
    if (usage) for (let above = call.parent; above; above = above.parent) above.outcome?.use(usage);
    if (call.kind === "model") {
      say(call, "llm_end", { usage: usage ?? null, finish_reason: call.said.reason ?? null, ...ended });
      return;
    }
    const { outcome, name } = call;
    const state = outcome && { result: outcome.result() satisfies Result, shape: outcome.shape() };
    say(call, "tool_end", { tool_name: name, result: null, ...state, ...ended });
  };

  const inside = (call: Call) =>
    [...open].filter((other) => {
      for (let above = other.parent; above; above = above.parent) if (above === call) return true;
      return false;
    });

  const abandonOne = (call: Call, { name, message, status }: Parameters<Calls["abandon"]>[1]) => {
    // A model that has said why it stopped has ended by itself.
    if (call.kind === "model" && call.said.reason !== undefined) return end(call, { status: "success" });
    say(call, "warning", { name, message });
    end(call, { status, synthetic: true });
  };

  return {
    open(kind, key, options, payload) {
      const id = uuidV5([kind, ...options.path, key].join("|"), namespace);
      const call: Call = {
        ...options,
        kind,
        id,
        seq: 0,
        outcome: kind === "graph" ? createOutcome() : undefined,
        said: {},
      };
      open.add(call);
      say(call, kind === "model" ? "llm_start" : "tool_start", payload);
      return call;
    },
    say,
    close(call, { status, payload = {} }) {
      if (!open.has(call)) return;
      for (const child of inside(call).reverse()) {
        // Of a graph that a tool runs, and of a model, nobody tells the end apart from that of what runs them.
        if (status === "success" && child.kind !== "tool") end(child, { status });
        else abandonOne(child, { ...ENDLESS, status });
      }
      end(call, { ...payload, status });
    },
    abandon(call, why) {
      for (const child of inside(call).reverse()) abandonOne(child, why);
      abandonOne(call, why);
    },
    openCalls: () => [...open],
    isOpen: (call) => open.has(call),
  };
}

/** A tool's arguments, which LangGraph gives as text. */
export function toArguments(input: unknown): unknown {
  if (typeof input !== "string") return input ?? null;
  try {
    return JSON.parse(input);
  } catch {
    return input;
  }
}

/** What a tool has given: a message is its content, an update of the state what it adds. */
export function toToolResult(output: unknown): unknown {
  if (!isFields(output)) return output ?? null;
  if (output.lg_name === "Command") {
    const outcome = createOutcome();
    outcome.add(output.update);
    return outcome.result();
  }
  const isMessage = output.type === "tool" && "content" in output;
  return isMessage
    ? { content: output.content, ...(output.artifact ? { artifact: output.artifact } : {}) }
    : output;
}
