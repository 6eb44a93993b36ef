// The state of a thread: read at its newest or an earlier checkpoint, changed from outside, listed as history.
import type { RunnableConfig } from "@langchain/core/runnables";
import { FENCE_KEY, FencedError } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Graph } from "../graphs/graph.ts";
import type { GraphRuntime, Graphs } from "../graphs/registry.ts";
import { readWithPending } from "./pending-writes.ts";
import { EMPTY_STATE, type ThreadState, toThreadState } from "./thread-state.ts";
import { hasUnfinishedRun, lockThread, selectThread, type ThreadRow, takeThread } from "./threads.sql.ts";

/** A checkpoint as a client names it; all parts may be missing: the newest of the root graph. */
interface CheckpointSelector {
  readonly checkpoint_id?: string | undefined;
  readonly checkpoint_ns?: string | undefined;
  readonly checkpoint_map?: Record<string, unknown> | undefined;
}

export interface ThreadStates {
  get(
    threadId: string,
    options?: { checkpoint?: CheckpointSelector; subgraphs?: boolean },
  ): Promise<ThreadState>;
  history(
    threadId: string,
    options: {
      limit: number;
      before?: string;
      metadata?: Record<string, unknown>;
      checkpoint?: CheckpointSelector;
    },
  ): Promise<ThreadState[]>;
  /** @throws AppError thread_busy while a run is unfinished, thread_has_no_graph, invalid_request */
  update(
    threadId: string,
    update: { values: unknown; asNode?: string; checkpoint?: CheckpointSelector },
  ): Promise<RunnableConfig>;
  /** The thread's state values, or undefined when it has never run. */
  values(thread: ThreadRow): Promise<unknown>;
}

export function createThreadStates({ db, graphs }: { db: Database; graphs: Graphs }): ThreadStates {
  const find = async (threadId: string): Promise<ThreadRow> => {
    const [thread] = await selectThread(db, threadId);
    if (!thread) throw threadNotFound(threadId);
    return thread;
  };

  const graphOf = async (thread: ThreadRow, accessContext: GraphRuntime["accessContext"]) => {
    const { graph_id } = thread.metadata;
    if (typeof graph_id !== "string" || !graphs.has(graph_id)) return undefined;
    return graphs.get(graph_id, thread.config, { accessContext, executionRuntime: null });
  };

  const read = async (graph: Graph, threadId: string, checkpoint: CheckpointSelector, subgraphs: boolean) => {
    const snapshot = await readWithPending(graph, (readable) =>
      readable.getState(toConfig(threadId, checkpoint), { subgraphs }),
    );
    if (checkpoint.checkpoint_id !== undefined && snapshot.metadata === undefined) {
      throw new AppError("checkpoint_not_found", `Checkpoint ${checkpoint.checkpoint_id} not found`);
    }
    return snapshot;
  };

  return {
    async get(threadId, { checkpoint = {}, subgraphs = false } = {}) {
      const thread = await find(threadId);
      const graph = await graphOf(thread, "threads.read");
      if (!graph) return EMPTY_STATE;
      return toThreadState(await read(graph, threadId, checkpoint, subgraphs));
    },

    async values(thread) {
      const graph = await graphOf(thread, "threads.read");
      if (!graph) return undefined;
      const snapshot = await read(graph, thread.thread_id, {}, false);
      return snapshot.metadata === undefined ? undefined : snapshot.values;
    },

    async history(threadId, { limit, before, metadata, checkpoint = {} }) {
      const thread = await find(threadId);
      const graph = await graphOf(thread, "threads.read");
      if (!graph) return [];
      return readWithPending(graph, async (readable) => {
        const history = readable.getStateHistory(toConfig(threadId, checkpoint), {
          limit,
          ...(before === undefined ? {} : { before: { configurable: { checkpoint_id: before } } }),
          ...(metadata === undefined ? {} : { filter: metadata }),
        });
        const states: ThreadState[] = [];
        for await (const snapshot of history) states.push(toThreadState(snapshot));
        return states;
      });
    },

    async update(threadId, { values, asNode, checkpoint = {} }) {
      const { thread, token } = await db.transaction(async (tx) => {
        const [thread] = await lockThread(tx, threadId);
        if (!thread) throw threadNotFound(threadId);
        if (await hasUnfinishedRun(tx, threadId)) throw threadBusy();
        const [taken] = await takeThread(tx, threadId);
        if (!taken) throw threadNotFound(threadId);
        return { thread, token: taken.fencing_token };
      });
      const graph = await graphOf(thread, "threads.update");
      if (!graph) throw new AppError("thread_has_no_graph", `Thread ${threadId} has no graph ID`);
      const config = toConfig(threadId, checkpoint);
      try {
        return await graph.updateState(
          { configurable: { ...config.configurable, [FENCE_KEY]: token } },
          values,
          asNode,
        );
      } catch (error) {
        if (error instanceof FencedError) throw threadBusy();
        if (!(error instanceof Error) || error instanceof AppError || isFromPostgres(error)) throw error;
        // The graph does not take it: no such node, or a reducer refuses the values.
        throw new AppError("invalid_request", error.message, { cause: error });
      }
    },
  };
}

const toConfig = (
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

/** An error that PostgreSQL sent; what it says is for the log. */
const isFromPostgres = (error: Error) => "severity" in error;

export const threadNotFound = (threadId: string) =>
  new AppError("thread_not_found", `Thread with ID ${threadId} not found`);

const threadBusy = () =>
  new AppError(
    "thread_busy",
    "Thread is busy: it has a run that is pending or running. Wait for it, or cancel it.",
  );
