// Writes that lie beside a checkpoint and wait for its next step. LangGraph applies them whenever it reads the
// checkpoint. What a reducer does not take is found only then: without care, one bad update would make a thread
// unreadable, and every later run of it fail.
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import type { Graph } from "../graphs/graph.ts";
import { deletePendingWrites } from "./threads.sql.ts";

/** What `read` finds; when the graph cannot apply what is pending, what it finds without that. */
export async function readWithPending<T>(graph: Graph, read: (graph: Graph) => Promise<T>): Promise<T> {
  try {
    return await read(graph);
  } catch (error) {
    if (error instanceof AppError || typeof graph.checkpointer !== "object") throw error;
    const copy = graph.withConfig({});
    copy.checkpointer = withoutPending(graph.checkpointer);
    return read(copy);
  }
}

/**
 * After a failed run: removes what it has left beside a checkpoint, if that is why the checkpoint cannot be read. What
 * can be applied stays: a run that goes on takes it up.
 */
export async function dropUnreadableWrites(
  { db, graph, token }: { db: Database; graph: Graph; token: string },
  config: RunnableConfig & { configurable: { thread_id: string } },
): Promise<void> {
  try {
    await graph.getState(config);
  } catch (error) {
    if (error instanceof AppError) throw error;
    const { checkpoint_id } = config.configurable as { checkpoint_id?: string };
    await deletePendingWrites(db, {
      threadId: config.configurable.thread_id,
      checkpointId: checkpoint_id,
      token,
    });
  }
}

/** The saver as if nothing lay beside any checkpoint. */
export function withoutPending(saver: BaseCheckpointSaver): BaseCheckpointSaver {
  const strip = (tuple: CheckpointTuple): CheckpointTuple => ({ ...tuple, pendingWrites: [] });
  const reader: BaseCheckpointSaver = Object.create(saver);
  reader.getTuple = async (config) => {
    const tuple = await saver.getTuple(config);
    return tuple && strip(tuple);
  };
  reader.list = async function* (config, options) {
    for await (const tuple of saver.list(config, options)) yield strip(tuple);
  };
  return reader;
}
