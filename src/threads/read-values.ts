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

/** Checkpoints that are made into values in one go: others wait so long, and states may be large. */
const WHOLE = 10;
const PARTIAL = 100;

/** Values by thread; none for one that has no state, or no graph that can read it. */
export async function readValues(
  { checkpointer, graphOf }: ValuesDeps,
  threads: readonly ThreadRow[],
  channels?: readonly string[],
): Promise<Map<string, unknown>> {
  const values = new Map<string, unknown>();
  const size = channels === undefined ? WHOLE : PARTIAL;
  for (let start = 0; start < threads.length; start += size) {
    const batch = threads.slice(start, start + size);
    const ids = batch.map((thread) => thread.thread_id);
    const heads = await checkpointer.heads(ids, channels);
    const saver = withHeads(checkpointer, heads, channels !== undefined);
    for (const thread of batch) {
      if (!heads.has(thread.thread_id)) continue;
      const graph = await graphOf(thread);
      if (!graph) continue;
      const copy = graph.withConfig({});
      copy.checkpointer = saver;
      const config = { configurable: { thread_id: thread.thread_id, checkpoint_ns: "" } };
      const snapshot = await readWithPending(copy, (readable) => readable.getState(config));
      if (snapshot.metadata !== undefined) values.set(thread.thread_id, snapshot.values);
    }
  }
  return values;
}

/** Gives each head once: reading a state changes the checkpoint in memory. Whoever asks again gets it from the database. */
function withHeads(
  saver: Checkpointer,
  heads: ReadonlyMap<string, CheckpointTuple>,
  isPartial: boolean,
): BaseCheckpointSaver {
  const fresh = new Map(heads);
  const reader: BaseCheckpointSaver = Object.create(saver);
  reader.getTuple = async (config) => {
    const { thread_id, checkpoint_id, checkpoint_ns = "" } = config.configurable ?? {};
    const head = fresh.get(thread_id);
    if (!head || checkpoint_id !== undefined || checkpoint_ns !== "") return saver.getTuple(config);
    fresh.delete(thread_id);
    // A task that has ended beside others that have not is applied when the state is read: that needs all values.
    return isPartial && head.pendingWrites?.length ? saver.getTuple(config) : head;
  };
  return reader;
}
