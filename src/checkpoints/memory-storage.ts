// Named checkpoints in this process: for state that need not outlive it. As text, so that nobody changes what is kept;
// bounded, the oldest go first.
import type { CheckpointBackend, CheckpointStorage, ListFilter } from "./storage.ts";
import { parseCheckpoint } from "./workflow-checkpoint.ts";

/** UTF-16 units of all threads together. */
const MAX_LENGTH = 64 * 1024 * 1024;

interface Entry {
  readonly threadId: string;
  readonly checkpointId: string;
  readonly workflowId: string;
  readonly isAutomatic: boolean;
  readonly text: string;
}

export function createMemoryStorage({ maxLength = MAX_LENGTH } = {}): CheckpointBackend {
  // The order of a map is the order in which its keys came.
  const entries = new Map<string, Entry>();
  let length = 0;
  const keyOf = (threadId: string, checkpointId: string) => JSON.stringify([threadId, checkpointId]);
  const remove = (key: string) => {
    length -= entries.get(key)?.text.length ?? 0;
    return entries.delete(key);
  };

  return {
    open({ threadId }): CheckpointStorage {
      const find = ({ workflowId, isAutomatic = false }: ListFilter = {}) =>
        [...entries.values()]
          .filter((entry) => entry.threadId === threadId && (entry.isAutomatic || !isAutomatic))
          .filter((entry) => workflowId === undefined || entry.workflowId === workflowId)
          .reverse();
      return {
        async save(checkpoint) {
          const { checkpoint_id: checkpointId, workflow_id: workflowId, trigger } = checkpoint;
          const key = keyOf(threadId, checkpointId);
          const text = JSON.stringify(checkpoint);
          length += text.length - (entries.get(key)?.text.length ?? 0);
          entries.set(key, { threadId, checkpointId, workflowId, isAutomatic: trigger !== "request", text });
          for (const oldest of entries.keys()) {
            if (length <= maxLength || oldest === key) break;
            remove(oldest);
          }
        },
        async load(checkpointId) {
          const found = entries.get(keyOf(threadId, checkpointId));
          return found && parseCheckpoint(found.text);
        },
        listIds: async (filter) => find(filter).map(({ checkpointId }) => checkpointId),
        list: async ({ limit, offset = 0, ...filter } = {}) =>
          find(filter)
            .slice(offset, limit === undefined ? undefined : offset + limit)
            .map(({ text }) => parseCheckpoint(text)),
        delete: async (checkpointId) => remove(keyOf(threadId, checkpointId)),
      };
    },
    async removeThread(threadId) {
      for (const [key, entry] of entries) if (entry.threadId === threadId) remove(key);
    },
    async close() {},
  };
}
