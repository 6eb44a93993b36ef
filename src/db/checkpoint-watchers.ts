// Who sees the checkpoints that the holder of a fencing token stores and loads.
import type { ChannelVersions, Checkpoint, CheckpointMetadata } from "@langchain/langgraph-checkpoint";

/** Must not throw. */
export interface CheckpointWatcher {
  /** In the moment in which the values become bytes. */
  onPut(
    ns: string,
    checkpoint: Checkpoint,
    written: Promise<unknown>,
    newVersions: ChannelVersions,
    metadata: CheckpointMetadata,
  ): void;
  onLoad?(ns: string, checkpoint: Checkpoint): void;
}

export function createWatchers() {
  const byRun = new Map<string, Set<CheckpointWatcher>>();
  const keyOf = (threadId: string, fence: string | null) => `${threadId} ${fence}`;
  return {
    of: (threadId: string, fence: string | null): Iterable<CheckpointWatcher> =>
      byRun.get(keyOf(threadId, fence)) ?? [],
    add(threadId: string, fence: string, watcher: CheckpointWatcher): () => void {
      const key = keyOf(threadId, fence);
      const watchers = byRun.get(key) ?? new Set();
      byRun.set(key, watchers.add(watcher));
      return () => {
        watchers.delete(watcher);
        if (watchers.size === 0) byRun.delete(key);
      };
    },
  };
}
