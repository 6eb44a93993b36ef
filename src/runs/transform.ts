// What may watch a run's stream while it is made, and add custom events to it (`src/protocol/transform.ts`).
import type { Graph } from "../graphs/graph.ts";
import type { Chunk } from "./graph-chunks.ts";

export interface Transform {
  /** A chunk of the graph, and the event that the log has of it; `data` is JSON text. */
  push(chunk: Chunk, frame: { readonly event: string; readonly data: string }): void;
  /** The graph has ended. Resolves when all has been told. */
  end(): Promise<void>;
  /** The graph has failed, or was stopped. */
  fail(error: unknown): void;
}

/** Undefined: nothing watches this graph. `tell`: a custom event of a namespace. */
export type OpenTransform = (
  graph: Graph,
  run: { readonly runId: string; readonly graphName: string },
  tell: (namespace: readonly string[], data: unknown) => void,
) => Transform | undefined;
