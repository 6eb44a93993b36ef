// Named checkpoints of a thread (document 003, §5): made, listed, shown, restored, deleted. LangGraph's checkpoints are
// the ground truth; these are what of them is to be found again, kept whole and apart, whatever is pruned.
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { v7 as uuidV7 } from "uuid";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import type { Graph } from "../graphs/graph.ts";
import type { Graphs } from "../graphs/registry.ts";
import type { Topologies } from "../graphs/topology.ts";
import { readWithPending, withoutPending } from "../threads/pending-writes.ts";
import { graphOf, threadNotFound, toConfig } from "../threads/state.ts";
import { toInterrupts } from "../threads/thread-state.ts";
import {
  hasUnfinishedRun,
  insertThread,
  lockThread,
  selectThread,
  type ThreadRow,
  type Ttl,
  takeThread,
} from "../threads/threads.sql.ts";
import { type Migration, migrateSnapshot } from "./migrate-snapshot.ts";
import { noteRestored, selectNow } from "./snapshot.sql.ts";
import { readSnapshot, writeSnapshot } from "./snapshot.ts";
import type { ListFilter } from "./storage.ts";
import type { CheckpointStorages } from "./storages.ts";
import { toCheckpointView } from "./view.ts";
import { type CheckpointView, FORMAT, toView, type WorkflowCheckpoint } from "./workflow-checkpoint.ts";

/** Whose checkpoints, and where they are. */
interface Place {
  readonly threadId: string;
  readonly scope?: Scope;
  /** Name of the storage. */
  readonly storage?: string | undefined;
}

export interface NewCheckpoint {
  /** The graph's id if it is left out. */
  readonly workflowId?: string | undefined;
  readonly metadata?: Record<string, unknown> | undefined;
  /** LangGraph's checkpoint; the newest if it is left out. */
  readonly langgraphCheckpointId?: string | undefined;
  readonly trigger?: WorkflowCheckpoint["trigger"];
}

export interface Restored {
  readonly thread_id: string;
  readonly checkpoint: { readonly checkpoint_id: string; readonly checkpoint_ns: "" };
  /** Executors that go on next. */
  readonly next: readonly string[];
  /** Task id to what it asks. */
  readonly interrupts: Readonly<Record<string, unknown>>;
}

export interface Checkpoints {
  /** @throws AppError unknown_storage, thread_not_found, thread_has_no_graph, checkpoint_not_found */
  create(place: Place, options: NewCheckpoint): Promise<CheckpointView>;
  /** The newest first. @throws AppError unknown_storage, thread_not_found */
  list(place: Place, filter: ListFilter): Promise<CheckpointView[]>;
  /** @throws AppError unknown_storage, thread_not_found, checkpoint_not_found, checkpoint_unreadable */
  get(place: Place, checkpointId: string): Promise<CheckpointView>;
  /** As `get`; and as the thread's newest state, or that of a new thread, what the checkpoint has. All or nothing.
   * @throws AppError as `get` does, thread_busy, thread_exists, topology_mismatch */
  restore(
    place: Place,
    checkpointId: string,
    copy?: { threadId: string; metadata: Record<string, unknown>; scope: Scope },
  ): Promise<Restored>;
  /** @throws AppError unknown_storage, thread_not_found, checkpoint_not_found */
  remove(place: Place, checkpointId: string): Promise<void>;
  /** Deletes the oldest of those that were made without being asked for. */
  keepNewest(place: Place, workflowId: string, count: number): Promise<void>;
}

interface CheckpointDeps {
  readonly db: Database;
  readonly graphs: Graphs;
  readonly checkpointer: Checkpointer;
  readonly topologies: Topologies;
  readonly storages: CheckpointStorages;
  /** By graph. */
  readonly migrations: Readonly<Record<string, Migration>>;
  /** JSON as clients get it. */
  readonly toJson: (value: unknown) => string;
  readonly ttl: Ttl | undefined;
}

export function createCheckpoints(deps: CheckpointDeps): Checkpoints {
  const { db, graphs, checkpointer, topologies, storages, migrations, toJson, ttl } = deps;

  /** Of a thread that the caller may see. */
  const open = async ({ threadId, scope, storage }: Place) => {
    const opened = storages.open(storage, { threadId, scope });
    const [thread] = await selectThread(db, threadId, scope);
    if (!thread) throw threadNotFound(threadId);
    return opened;
  };
  const load = async (place: Place, checkpointId: string) => {
    const found = await (await open(place)).load(checkpointId);
    if (!found) throw checkpointNotFound(checkpointId);
    return found;
  };

  const take = async (
    tx: Queryable,
    { threadId, scope }: Place,
    { workflowId, metadata = {}, langgraphCheckpointId, trigger = "request" }: NewCheckpoint,
  ): Promise<WorkflowCheckpoint> => {
    await tx.query("set transaction isolation level repeatable read");
    const [thread] = await selectThread(tx, threadId, scope);
    if (!thread) throw threadNotFound(threadId);
    const graph = await graphOf(graphs, thread, "threads.read");
    if (!graph) throw new AppError("thread_has_no_graph", `Thread ${threadId} has no graph ID`);
    const { snapshot, isPast } = await readSnapshot(tx, threadId, langgraphCheckpointId);
    const root = snapshot.find(({ checkpoint_ns, is_head }) => checkpoint_ns === "" && is_head);
    if (!root) {
      const which =
        langgraphCheckpointId === undefined ? "no state yet" : `no checkpoint ${langgraphCheckpointId}`;
      throw new AppError("checkpoint_not_found", `Thread ${threadId} has ${which}`);
    }
    const topology = await topologies.of(graph);
    const saver = checkpointer.within(tx);
    const config = toConfig(threadId, { checkpoint_id: root.checkpoint_id });
    const tuple = await saver.getTuple(config);
    const sends = tuple?.checkpoint.channel_values.__pregel_tasks;
    const shown = withSaver(graph, isPast ? withoutPending(saver) : saver);
    const state = await readWithPending(shown, (readable) =>
      readable.getState(config, { subgraphs: !isPast }),
    );
    const executors = new Set(Object.keys(topology.executors).map((name) => name.split(":")[0] ?? name));
    const [clock] = await selectNow(tx);
    const graph_id = String(thread.metadata.graph_id);
    return {
      version: FORMAT,
      checkpoint_id: uuidV7(),
      workflow_id: workflowId ?? graph_id,
      ...toCheckpointView(state, [...executors], Array.isArray(sends) ? sends : [], (value) =>
        JSON.parse(toJson(value)),
      ),
      metadata,
      created_at: (clock?.now ?? new Date()).toISOString(),
      trigger,
      thread_id: threadId,
      graph_id,
      langgraph_checkpoint_id: root.checkpoint_id,
      config: thread.config,
      topology: { version: topology.version, executors: toMutable(topology.executors) },
      snapshot,
    };
  };

  /** The thread that is to have the state, held until the end of the transaction. */
  const takeTarget = async (
    tx: Queryable,
    { threadId, scope }: Place,
    checkpoint: WorkflowCheckpoint,
    copy: Parameters<Checkpoints["restore"]>[2],
  ): Promise<Pick<ThreadRow, "thread_id" | "config">> => {
    if (!copy) {
      const [thread] = await lockThread(tx, threadId, scope);
      if (!thread) throw threadNotFound(threadId);
      if (await hasUnfinishedRun(tx, threadId)) {
        throw new AppError(
          "thread_busy",
          "Thread is busy: it has a run that is pending or running. Wait for it, or cancel it.",
        );
      }
      // Whoever still writes the thread, a run that has lost its lease, writes nothing more.
      await takeThread(tx, threadId);
      return thread.metadata.graph_id === checkpoint.graph_id
        ? thread
        : { thread_id: threadId, config: checkpoint.config };
    }
    const [source] = await selectThread(tx, threadId, scope);
    if (!source) throw threadNotFound(threadId);
    const metadata = { ...source.metadata, ...copy.metadata };
    const [made] = await insertThread(tx, copy.threadId, metadata, ttl);
    const [visible] = made ? await selectThread(tx, copy.threadId, copy.scope) : [];
    if (!visible) throw new AppError("thread_exists", "Thread already exists");
    return { thread_id: copy.threadId, config: checkpoint.config };
  };

  return {
    async create(place, options) {
      const storage = await open(place);
      const checkpoint = await db.transaction((tx) => take(tx, place, options));
      await storage.save(checkpoint);
      try {
        await open(place);
      } catch (error) {
        // The thread was deleted meanwhile, and what it has had elsewhere was removed before this one came.
        await storage.delete(checkpoint.checkpoint_id);
        throw error;
      }
      return toView(checkpoint);
    },
    async list(place, filter) {
      return (await (await open(place)).list(filter)).map(toView);
    },
    get: async (place, checkpointId) => toView(await load(place, checkpointId)),
    async restore(place, checkpointId, copy) {
      const checkpoint = await load(place, checkpointId);
      const { graph_id: graphId, langgraph_checkpoint_id } = checkpoint;
      return db.transaction(async (tx) => {
        const { thread_id, config } = await takeTarget(tx, place, checkpoint, copy);
        const graph = await graphs.get(graphId, config, {
          accessContext: "threads.update",
          executionRuntime: null,
        });
        const snapshot = migrateSnapshot(checkpoint, await topologies.of(graph), migrations[graphId]);
        await writeSnapshot(tx, thread_id, snapshot, checkpointId);
        const { tasks, next } = await readWithPending(withSaver(graph, checkpointer.within(tx)), (readable) =>
          readable.getState(toConfig(thread_id, {})),
        );
        const interrupts = toJson(toInterrupts(tasks));
        await noteRestored(tx, thread_id, { graphId, config, interrupts });
        const checkpointRef = { checkpoint_id: langgraph_checkpoint_id, checkpoint_ns: "" as const };
        return { thread_id, checkpoint: checkpointRef, next, interrupts: JSON.parse(interrupts) };
      });
    },
    async remove(place, checkpointId) {
      if (!(await (await open(place)).delete(checkpointId))) throw checkpointNotFound(checkpointId);
    },
    async keepNewest({ threadId, scope, storage }, workflowId, count) {
      const opened = storages.open(storage, { threadId, scope });
      const ids = await opened.listIds({ workflowId, isAutomatic: true });
      for (const id of ids.slice(count)) await opened.delete(id);
    },
  };
}

function withSaver(graph: Graph, saver: BaseCheckpointSaver): Graph {
  const copy = graph.withConfig({});
  copy.checkpointer = saver;
  return copy;
}

const toMutable = (executors: Readonly<Record<string, readonly string[]>>) =>
  Object.fromEntries(Object.entries(executors).map(([name, targets]) => [name, [...targets]]));

const checkpointNotFound = (checkpointId: string) =>
  new AppError("checkpoint_not_found", `Checkpoint ${checkpointId} not found`);
