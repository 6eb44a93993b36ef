// Changes the state of a thread from outside: new values as if a node had returned them, several steps of them, and
// metadata of its newest checkpoint.
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseStore } from "@langchain/langgraph-checkpoint";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import { type ClientCommand, toCommand } from "../graphs/command.ts";
import { type Graph, isObject, type Superstep } from "../graphs/graph.ts";
import type { OpenStore } from "../graphs/open-store.ts";
import type { Graphs } from "../graphs/registry.ts";
import { readWithPending } from "./pending-writes.ts";
import { type CheckpointSelector, graphOf, hasSubgraph, threadNotFound, toConfig } from "./state.ts";
import { toInterrupts } from "./thread-state.ts";
import {
  hasUnfinishedRun,
  lockThread,
  noteState,
  selectThread,
  type ThreadRow,
  takeThread,
  updateHeadMetadata,
} from "./threads.sql.ts";

/** Updates that count as one step, as a client sends them. */
export interface ClientSuperstep {
  readonly updates: readonly {
    readonly values?: unknown;
    readonly command?: ClientCommand | undefined;
    readonly as_node: string;
  }[];
}

export interface StateUpdates {
  /**
   * One step; with a list of values, one for each.
   * @throws AppError thread_not_found, thread_busy while a run is unfinished, thread_has_no_graph, graph_not_loaded,
   *   checkpoint_not_found, invalid_request
   */
  update(
    threadId: string,
    update: {
      values: unknown;
      asNode?: string | undefined;
      checkpoint?: CheckpointSelector | undefined;
      /** Who asks, for the store that the graph's functions see. */
      identity?: string | undefined;
    },
    /** All of them limit the caller. */
    scopes?: readonly Scope[],
  ): Promise<RunnableConfig>;
  /** Merges into the metadata of the newest checkpoint. @throws AppError thread_not_found, checkpoint_not_found */
  patch(threadId: string, metadata: Record<string, unknown>, scope?: Scope): Promise<void>;
}

interface UpdateDeps {
  readonly db: Database;
  readonly graphs: Graphs;
  readonly checkpointer: Checkpointer;
  readonly openStore: OpenStore;
  /** JSON as clients get it. */
  readonly toJson: (value: unknown) => string;
}

export function createStateUpdates({
  db,
  graphs,
  checkpointer,
  openStore,
  toJson,
}: UpdateDeps): StateUpdates {
  return {
    async update(threadId, { values, asNode, checkpoint = {}, identity }, scopes = []) {
      const thread = await find(db, threadId, scopes);
      const graph = await graphOf(graphs, thread, "threads.update");
      if (!graph) throw hasNoGraph(threadId);
      const { checkpoint_ns = "" } = checkpoint;
      if (checkpoint_ns !== "" && !(await hasSubgraph(graph, checkpoint_ns))) {
        throw new AppError("checkpoint_not_found", `The graph has no subgraph "${checkpoint_ns}"`);
      }
      return db.transaction(async (tx) => {
        await lockThread(tx, threadId);
        if (await hasUnfinishedRun(tx, threadId)) throw threadBusy();
        // Whoever still writes the thread, a run that has lost its lease, writes nothing more.
        const [taken] = await takeThread(tx, threadId);
        if (!taken) throw threadNotFound(threadId);
        const saver = checkpointer.within(tx);
        const config = toConfig(threadId, checkpoint);
        if (checkpoint.checkpoint_id !== undefined && (await saver.getTuple(config)) === undefined) {
          throw new AppError("checkpoint_not_found", `Checkpoint ${checkpoint.checkpoint_id} not found`);
        }
        const copy = equip(graph, saver, openStore({ identity }));
        const updated = await apply(copy, config, toSteps(graph, values, asNode));
        const { tasks, next } = await readWithPending(copy, (readable) =>
          readable.getState(toConfig(threadId, {})),
        );
        const interrupts = toJson(toInterrupts(tasks));
        await noteState(tx, threadId, { interrupts, isDone: next.length === 0 });
        return updated;
      });
    },

    async patch(threadId, metadata, scope) {
      const [thread] = await selectThread(db, threadId, scope);
      if (!thread) throw threadNotFound(threadId);
      const [head] = await updateHeadMetadata(db, threadId, metadata, scope);
      if (!head) throw new AppError("checkpoint_not_found", `Thread ${threadId} has no state yet`);
    },
  };
}

/**
 * The steps of a new thread, in the transaction that makes it.
 * @throws AppError thread_has_no_graph, assistant_not_found, invalid_request
 */
export async function applySupersteps(
  {
    graphs,
    checkpointer,
    openStore,
    tx,
    identity,
  }: Pick<UpdateDeps, "graphs" | "checkpointer" | "openStore"> & {
    tx: Queryable;
    identity: string | undefined;
  },
  thread: ThreadRow,
  supersteps: readonly ClientSuperstep[],
): Promise<void> {
  const { thread_id, metadata, config } = thread;
  if (typeof metadata.graph_id !== "string") throw hasNoGraph(thread_id);
  const graph = await graphs.get(metadata.graph_id, config, {
    accessContext: "threads.update",
    executionRuntime: null,
  });
  const steps = supersteps.map(({ updates }) => ({
    updates: updates.map(({ values, command, as_node }) => ({
      values: command ? toCommand(command) : values,
      asNode: as_node,
    })),
  }));
  await apply(equip(graph, checkpointer.within(tx), openStore({ identity })), toConfig(thread_id, {}), steps);
}

async function find(db: Database, threadId: string, scopes: readonly Scope[]): Promise<ThreadRow> {
  let found: ThreadRow | undefined;
  for (const scope of [undefined, ...scopes]) {
    [found] = await selectThread(db, threadId, scope);
    if (!found) break;
  }
  if (!found) throw threadNotFound(threadId);
  return found;
}

/** What the graph's functions put into the store is no part of the transaction, and is not undone with it. */
function equip(graph: Graph, saver: Checkpointer, store: BaseStore): Graph {
  const copy = graph.withConfig({});
  copy.checkpointer = saver;
  copy.store = store;
  return copy;
}

async function apply(
  graph: Graph,
  config: RunnableConfig,
  supersteps: readonly Superstep[],
): Promise<RunnableConfig> {
  try {
    return await graph.bulkUpdateState(config, supersteps);
  } catch (error) {
    if (!(error instanceof Error) || error instanceof AppError || isFromPostgres(error)) throw error;
    // The graph does not take it: no such node, or a reducer refuses the values.
    throw new AppError("invalid_request", error.message, { cause: error });
  }
}

/** A list is several updates, unless the state itself is a list. */
function toSteps(graph: Graph, values: unknown, asNode: string | undefined): readonly Superstep[] {
  const isState = graph.streamChannelsList.includes("__root__");
  const several =
    !isState && Array.isArray(values) && values.length > 0 && values.every(isPlain) ? values : [values];
  return several.map((one) => ({ updates: [{ values: one, asNode }] }));
}

const isPlain = (value: unknown) => isObject(value) && !Array.isArray(value);

/** An error that PostgreSQL sent; what it says is for the log. */
const isFromPostgres = (error: Error) => "severity" in error;

const hasNoGraph = (threadId: string) =>
  new AppError("thread_has_no_graph", `Thread ${threadId} has no graph ID`);

const threadBusy = () =>
  new AppError(
    "thread_busy",
    "Thread is busy: it has a run that is pending or running. Wait for it, or cancel it.",
  );
