// Runs a subagent's graph and says after each of its steps what it has come to, while it goes on (document 002,
// "Real-time Updates During Execution").
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { TaskResult } from "./task-result.ts";

/** Told one line after each step; the subagent waits for it. */
export type OnProgress = (line: string) => Promise<void>;

interface Streamable {
  stream(input: never, options: object): Promise<AsyncIterable<unknown>>;
}

/** What each node's update says to a reader, by the node's name; one that is left out says nothing. */
export type Words = Readonly<Record<string, (update: never) => string>>;

export async function runAloud(
  graph: Streamable,
  input: object,
  config: LangGraphRunnableConfig,
  words: Words,
  onProgress: OnProgress,
): Promise<TaskResult> {
  let last: { readonly result?: TaskResult } = {};
  const stream = await graph.stream(input as never, { ...config, streamMode: ["updates", "values"] });
  for await (const [mode, chunk] of stream as AsyncIterable<["updates" | "values", object]>) {
    if (mode === "values") {
      last = chunk;
      continue;
    }
    for (const [node, update] of Object.entries(chunk)) {
      const line = words[node]?.(update as never);
      if (line) await onProgress(line);
    }
  }
  if (last.result) return last.result;
  throw new TypeError("The subagent ended without a result.");
}
