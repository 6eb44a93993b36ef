// The state of a thread: read at its newest or an earlier checkpoint, listed as history. How it is changed is in
// update-state.ts.
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError, isAppError } from "../errors.ts";
import type { Graph } from "../graphs/graph.ts";
import type { GraphRuntime, Graphs } from "../graphs/registry.ts";
import { readWithPending } from "./pending-writes.ts";
import { readValues, type ThreadWithValues } from "./read-values.ts";
import { EMPTY_STATE, type ThreadState, toThreadState } from "./thread-state.ts";
import { selectThread, type ThreadRow } from "./threads.sql.ts";

/** A checkpoint as a client names it; all parts may be missing: the newest of the root graph. */
export interface CheckpointSelector {
  readonly checkpoint_id?: string | undefined;
  readonly checkpoint_ns?: string | undefined;
  readonly checkpoint_map?: Record<string, unknown> | undefined;
}

export interface ThreadStates {
  /** @throws AppError thread_not_found, checkpoint_not_found, graph_not_loaded */
  get(
    threadId: string,
    options?: {
      checkpoint?: CheckpointSelector | undefined;
      subgraphs?: boolean | undefined;
      scope?: Scope;
    },
  ): Promise<ThreadState>;
  /** Newest first. @throws AppError thread_not_found, checkpoint_not_found, graph_not_loaded */
  history(
    threadId: string,
    options: {
      limit: number;
      before?: string | undefined;
      metadata?: Record<string, unknown> | undefined;
      checkpoint?: CheckpointSelector | undefined;
      scope?: Scope;
    },
  ): Promise<ThreadState[]>;
  /**
   * These threads, each with its newest values; in one query for several threads. None for a thread that has never run
   * or whose graph cannot be loaded. With `channels`, only these need be right.
   */
  values(threads: readonly ThreadRow[], channels?: readonly string[]): AsyncIterable<ThreadWithValues>;
}

interface StateDeps {
  readonly db: Database;
  readonly graphs: Graphs;
  readonly checkpointer: Checkpointer;
}

export function createThreadStates({ db, graphs, checkpointer }: StateDeps): ThreadStates {
  const find = async (threadId: string, scope: Scope) => {
    const [thread] = await selectThread(db, threadId, scope);
    if (!thread) throw threadNotFound(threadId);
    return { thread, graph: await graphOf(graphs, thread, "threads.read") };
  };

  /** With the checkpoints of a subgraph that the graph does not know, they are read as its own: it shows what both have. */
  const locate = async (graph: Graph, threadId: string, checkpoint: CheckpointSelector) => {
    const config = toConfig(threadId, checkpoint);
    const { checkpoint_ns = "" } = checkpoint;
    if (checkpoint_ns === "" || (await hasSubgraph(graph, checkpoint_ns))) return config;
    if (await checkpointer.getTuple(toConfig(threadId, { checkpoint_ns }))) {
      return { configurable: { ...config.configurable, __pregel_checkpointer: graph.checkpointer } };
    }
    throw new AppError("checkpoint_not_found", `There is no checkpoint in "${checkpoint_ns}"`);
  };

  /** One thread of many must not keep the others from being shown. */
  const readableGraphOf = (thread: ThreadRow) =>
    graphOf(graphs, thread, "threads.read").catch((error: unknown) => {
      if (isAppError(error, "graph_not_loaded")) return undefined;
      throw error;
    });

  return {
    async get(threadId, { checkpoint = {}, subgraphs = false, scope } = {}) {
      const { graph } = await find(threadId, scope);
      if (!graph) return EMPTY_STATE;
      const config = await locate(graph, threadId, checkpoint);
      const snapshot = await readWithPending(graph, (readable) => readable.getState(config, { subgraphs }));
      if (checkpoint.checkpoint_id !== undefined && snapshot.metadata === undefined) {
        throw new AppError("checkpoint_not_found", `Checkpoint ${checkpoint.checkpoint_id} not found`);
      }
      return toThreadState(snapshot);
    },

    values: (threads, channels) => readValues({ checkpointer, graphOf: readableGraphOf }, threads, channels),

    async history(
      threadId,
      { limit, before, metadata: { thread_id, ...metadata } = {}, checkpoint = {}, scope },
    ) {
      const { graph } = await find(threadId, scope);
      // Each state shows its thread's id in its metadata, where it is not stored.
      if (!graph || (thread_id !== undefined && thread_id !== threadId)) return [];
      const config = await locate(graph, threadId, checkpoint);
      return readWithPending(graph, async (readable) => {
        const history = readable.getStateHistory(config, {
          limit,
          ...(before === undefined ? {} : { before: { configurable: { checkpoint_id: before } } }),
          ...(Object.keys(metadata).length === 0 ? {} : { filter: metadata }),
        });
        const states: ThreadState[] = [];
        for await (const snapshot of history) states.push(toThreadState(snapshot));
        return states;
      });
    },
  };
}

/**
 * The graph that the thread has run last; undefined when there is none, or langgraph.json does not name it.
 * @throws AppError graph_not_loaded
 */
export async function graphOf(
  graphs: Graphs,
  thread: Pick<ThreadRow, "metadata" | "config">,
  accessContext: GraphRuntime["accessContext"],
): Promise<Graph | undefined> {
  const { graph_id } = thread.metadata;
  if (typeof graph_id !== "string" || !graphs.has(graph_id)) return undefined;
  return graphs.get(graph_id, thread.config, { accessContext, executionRuntime: null });
}

/** Whether the graph has this subgraph; one that a node calls by itself is not known to it. */
export async function hasSubgraph(graph: Graph, checkpointNs: string): Promise<boolean> {
  const parts = checkpointNs.split("|").filter((part) => !/^\d+$/.test(part));
  const path = parts.map((part) => part.split(":")[0]).join("|");
  for await (const [name] of graph.getSubgraphsAsync(path, true)) if (name === path) return true;
  return false;
}

export const toConfig = (
  threadId: string,
  { checkpoint_id, checkpoint_ns, checkpoint_map }: CheckpointSelector,
) => ({
  configurable: {
    thread_id: threadId,
    checkpoint_ns: checkpoint_ns ?? "",
    ...(checkpoint_id === undefined ? {} : { checkpoint_id }),
    ...(checkpoint_map === undefined ? {} : { checkpoint_map }),
  },
});

export const threadNotFound = (threadId: string) =>
  new AppError("thread_not_found", `Thread with ID ${threadId} not found`);
