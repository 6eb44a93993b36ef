// From what the graph streams to the named events of the LangGraph API: one event for each chunk of a mode that was
// asked for, and those of `messages`, which LangGraph does not know. A subgraph's events carry its namespace,
// `updates|child:<task id>`.
import { showCheckpoint, showDebug, showTask } from "./debug-frames.ts";
import { type Chunk, type Frame, TO_LANGGRAPH } from "./graph-chunks.ts";
import { createMessageFrames } from "./message-frames.ts";
import type { StreamMode } from "./run-kwargs.ts";

/** Turns the chunks of one attempt, in order, into the events that its client asked for. */
export function createRenderer(modes: readonly StreamMode[]): (chunk: Chunk) => readonly Frame[] {
  const shown = new Set<Chunk["mode"]>(
    modes.flatMap((mode) => (mode === "events" ? mode : mode === "messages" ? [] : TO_LANGGRAPH[mode])),
  );
  const renderMessages = modes.includes("messages") ? createMessageFrames() : () => [];
  /** LangGraph sends the place of a state in the history, without the state, before the state itself. */
  const isShown = ({ mode, data }: Chunk) =>
    mode === "checkpoints" && !isObject(data, "values")
      ? shown.has("values") && !shown.has("checkpoints")
      : shown.has(mode);
  return (chunk) => {
    const { mode, namespace } = chunk;
    if (!isShown(chunk)) return renderMessages(chunk);
    return [{ event: [mode, ...namespace].join("|"), data: show(chunk) }, ...renderMessages(chunk)];
  };
}

function show({ mode, data }: Chunk): unknown {
  switch (mode) {
    case "debug":
      return showDebug(data);
    case "tasks":
      return showTask(data);
    case "checkpoints":
      return showCheckpoint(data);
    default:
      return data;
  }
}

const isObject = (value: unknown, field: string) =>
  typeof value === "object" && value !== null && field in value;
