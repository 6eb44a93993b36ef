// Named checkpoints in Redis (`REDIS_URL`), plain data types: a thread has one hash of documents and one that says which
// workflow each is of. Both change in one MULTI, so the second never names what the first has not; and no key is looked
// for by a pattern, which would stop everybody else meanwhile.
import { createClient } from "@redis/client";
import { AppError } from "../errors.ts";
import type { CheckpointBackend, CheckpointStorage, ListFilter } from "./storage.ts";
import { parseCheckpoint, type WorkflowCheckpoint } from "./workflow-checkpoint.ts";

/** How long an answer is waited for. */
const TIMEOUT_MS = 5_000;

interface Place {
  readonly id: string;
  readonly workflowId: string;
  readonly isAutomatic: boolean;
  readonly createdAt: string;
}

export function createRedisStorage({ url }: { url: string }): CheckpointBackend {
  const client = createClient({
    url,
    disableOfflineQueue: true,
    commandOptions: { timeout: TIMEOUT_MS },
    socket: { reconnectStrategy: (tries) => Math.min(tries * 100, 2_000) },
  });
  // Each command says it to whoever asked.
  client.on("error", () => undefined);
  let connecting: Promise<unknown> | undefined;

  const ask = async <T>(command: () => Promise<T>): Promise<T> => {
    try {
      // Waited for once: while Redis is away, later commands fail at once.
      connecting ??= Promise.race([client.connect(), late()]);
      if (!client.isReady) await connecting;
      return await command();
    } catch (error) {
      throw new AppError("storage_unavailable", "Redis, the storage of this checkpoint, does not answer.", {
        cause: error,
      });
    }
  };
  /** In braces what a cluster goes by: both hashes lie on one node. */
  const keysOf = (threadId: string) => ({
    documents: `heddle:checkpoints:{${threadId}}:documents`,
    index: `heddle:checkpoints:{${threadId}}:index`,
  });

  return {
    open({ threadId }): CheckpointStorage {
      const { documents, index } = keysOf(threadId);
      const places = async ({ workflowId, isAutomatic = false }: ListFilter = {}): Promise<Place[]> => {
        const all = await ask(() => client.hGetAll(index));
        return Object.entries(all)
          .map(([id, text]) => toPlace(id, text))
          .filter((place) => workflowId === undefined || place.workflowId === workflowId)
          .filter((place) => place.isAutomatic || !isAutomatic)
          .sort((a, b) => compare(b.createdAt, a.createdAt) || compare(b.id, a.id));
      };
      return {
        async save(checkpoint) {
          const { checkpoint_id: id } = checkpoint;
          await ask(() =>
            client
              .multi()
              .hSet(documents, id, JSON.stringify(checkpoint))
              .hSet(index, id, fromPlace(checkpoint))
              .exec(),
          );
        },
        async load(checkpointId) {
          const text = await ask(() => client.hGet(documents, checkpointId));
          return text === null ? undefined : parseCheckpoint(text);
        },
        listIds: async (filter) => (await places(filter)).map(({ id }) => id),
        async list({ limit, offset = 0, ...filter } = {}) {
          const found = await places(filter);
          const ids = found
            .slice(offset, limit === undefined ? undefined : offset + limit)
            .map(({ id }) => id);
          if (ids.length === 0) return [];
          const texts = await ask(() => client.hmGet(documents, ids));
          // One that was deleted between the two is left out.
          return texts.flatMap((text) => (text === null ? [] : [parseCheckpoint(text)]));
        },
        async delete(checkpointId) {
          const [removed] = await ask(() =>
            client.multi().hDel(documents, checkpointId).hDel(index, checkpointId).exec(),
          );
          return Number(removed) > 0;
        },
      };
    },
    async removeThread(threadId) {
      const { documents, index } = keysOf(threadId);
      await ask(() => client.del([documents, index]));
    },
    async close() {
      client.destroy();
    },
  };
}

const fromPlace = ({ workflow_id, created_at, trigger }: WorkflowCheckpoint) =>
  JSON.stringify({ workflow_id, created_at, trigger });

function toPlace(id: string, text: string): Place {
  const { workflow_id, created_at, trigger } = JSON.parse(text) as WorkflowCheckpoint;
  return { id, workflowId: workflow_id, isAutomatic: trigger !== "request", createdAt: created_at };
}

const compare = (a: string, b: string) => (a < b ? -1 : a > b ? 1 : 0);

const late = () =>
  new Promise<never>((_resolve, reject) => {
    setTimeout(() => reject(new Error("no connection in time")), TIMEOUT_MS).unref();
  });
