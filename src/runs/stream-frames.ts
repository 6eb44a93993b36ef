// From what the graph streams to the named events of the LangGraph API, `values`, `updates`, `messages`, `custom`; a
// subgraph's events carry its namespace, `updates|child:<task id>`.
import type { StreamMode } from "./run-kwargs.ts";

/** LangGraph's name of a stream mode. */
const TO_LANGGRAPH = {
  values: "values",
  updates: "updates",
  "messages-tuple": "messages",
  custom: "custom",
} as const;

export interface Frame {
  readonly mode: (typeof TO_LANGGRAPH)[StreamMode];
  readonly namespace: readonly string[];
  readonly event: string;
  readonly data: unknown;
}

/** The modes to run the graph with: what was asked for, and `values`, which tell the result and interrupts. */
export const toLanggraphModes = (modes: readonly StreamMode[]) => [
  ...new Set(["values" as const, ...modes.map((mode) => TO_LANGGRAPH[mode])]),
];

/** A chunk of `graph.stream` with several modes: [mode, data], or [namespace, mode, data] with subgraphs. */
export function toFrame(chunk: unknown): Frame {
  if (!Array.isArray(chunk)) throw new TypeError("a chunk of several stream modes is an array");
  const [namespace, mode, data] = chunk.length === 3 ? chunk : [[], ...chunk];
  return { namespace, mode, data, event: [mode, ...namespace].join("|") };
}

/** Whether the client asked for frames of this kind. */
export const isWanted = (frame: Frame, modes: readonly StreamMode[]) =>
  modes.some((mode) => TO_LANGGRAPH[mode] === frame.mode);
