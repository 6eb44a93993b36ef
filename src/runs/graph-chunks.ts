// What a graph streams, and what becomes of it: chunks of LangGraph's stream modes, frames of the API's.
import type { StreamMode } from "./run-kwargs.ts";

/** LangGraph's name of a stream mode. `events` is none of its modes, but another way to run a graph. */
export const TO_LANGGRAPH = {
  values: "values",
  updates: "updates",
  "messages-tuple": "messages",
  messages: "messages",
  debug: "debug",
  tasks: "tasks",
  checkpoints: "checkpoints",
  custom: "custom",
  tools: "tools",
} as const satisfies Record<Exclude<StreamMode, "events">, string>;

type LanggraphMode = (typeof TO_LANGGRAPH)[keyof typeof TO_LANGGRAPH];

/** What a graph streams, `mode` being LangGraph's; an event of `streamEvents` is a chunk of the mode `events`. */
export interface Chunk {
  readonly mode: LanggraphMode | "events";
  readonly namespace: readonly string[];
  readonly data: unknown;
}

export interface Frame {
  readonly event: string;
  readonly data: unknown;
}

/** The modes to run the graph with: what was asked for, and `values`, which tell the result and interrupts. */
export const toLanggraphModes = (modes: readonly StreamMode[]): LanggraphMode[] => [
  ...new Set(["values" as const, ...modes.flatMap((mode) => (mode === "events" ? [] : TO_LANGGRAPH[mode]))]),
];

/** A chunk of `graph.stream` with several modes: [mode, data], or [namespace, mode, data] with subgraphs. */
export function toChunk(chunk: unknown): Chunk {
  if (!Array.isArray(chunk)) throw new TypeError("a chunk of several stream modes is an array");
  const [namespace, mode, data] = chunk.length === 3 ? chunk : [[], ...chunk];
  return { namespace, mode, data };
}
