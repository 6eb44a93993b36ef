// Reads the newest values of many threads: their checkpoints in one query, each made into values by its own graph.
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph-checkpoint";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Graph } from "../graphs/graph.ts";
import { readWithPending } from "./pending-writes.ts";
import type { ThreadRow } from "./threads.sql.ts";

interface ValuesDeps {
  readonly checkpointer: Checkpointer;
  graphOf(thread: ThreadRow): Promise<Graph | undefined>;
}

/** A thread with its newest values; undefined when it has no state, or no graph that can read it. */
export interface ThreadWithValues {
  readonly thread: ThreadRow;
  readonly values: unknown;
}

/** Checkpoints that are read in one go, and held: states may be large. */
const WHOLE = 10;
const PARTIAL = 25;

/** The state of a graph that has one channel for it, and not one for each key: that of MessageGraph, of `entrypoint`. */
const WHOLE_STATES = ["__root__", "__end__"];

/** All of these threads, in their order. With `channels`, keys of the state: only these need be right. */
export async function* readValues(
  { checkpointer, graphOf }: ValuesDeps,
  threads: readonly ThreadRow[],
  channels?: readonly string[],
): AsyncGenerator<ThreadWithValues> {
  const size = channels === undefined ? WHOLE : PARTIAL;
  for (let start = 0; start < threads.length; start += size) {
    const batch = threads.slice(start, start + size);
    // A new thread has no graph yet, and so nothing to be looked for.
    const ids = batch.filter(({ metadata }) => metadata.graph_id !== undefined).map((one) => one.thread_id);
    const read = channels && [...channels, ...WHOLE_STATES];
    const heads = await (ids.length === 0 ? new Map() : checkpointer.heads(ids, read));
    const saver = withHeads(checkpointer, heads, channels !== undefined);
    for (const thread of batch) {
      const graph = heads.has(thread.thread_id) ? await graphOf(thread) : undefined;
      yield { thread, values: graph && (await valuesOf(graph, saver, thread.thread_id)) };
    }
  }
}

async function valuesOf(graph: Graph, saver: BaseCheckpointSaver, thread_id: string): Promise<unknown> {
  const copy = graph.withConfig({});
  copy.checkpointer = saver;
  const config = { configurable: { thread_id, checkpoint_ns: "" } };
  const snapshot = await readWithPending(copy, (readable) => readable.getState(config));
  return snapshot.metadata === undefined ? undefined : snapshot.values;
}

/**
 * Gives each head once, and holds it no longer: reading a state changes the checkpoint in memory. Whoever asks again
 * gets it from the database.
 */
function withHeads(
  saver: Checkpointer,
  heads: Map<string, CheckpointTuple>,
  isPartial: boolean,
): BaseCheckpointSaver {
  const reader: BaseCheckpointSaver = Object.create(saver);
  reader.getTuple = async (config) => {
    const { thread_id, checkpoint_id, checkpoint_ns = "" } = config.configurable ?? {};
    const head = heads.get(thread_id);
    if (!head || checkpoint_id !== undefined || checkpoint_ns !== "") return saver.getTuple(config);
    heads.delete(thread_id);
    // A task that has ended beside others that have not is applied when the state is read: that needs all values.
    return isPartial && head.pendingWrites?.length ? saver.getTuple(config) : head;
  };
  return reader;
}
