// The storages of this server by name: PostgreSQL, memory, and Redis where there is one.
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import { createMemoryStorage } from "./memory-storage.ts";
import { createPostgresStorage } from "./postgres-storage.ts";
import { createRedisStorage } from "./redis-storage.ts";
import type { CheckpointBackend, CheckpointStorage } from "./storage.ts";

export interface CheckpointStorages {
  /** Undefined: the default. @throws AppError unknown_storage */
  open(name: string | undefined, place: { threadId: string; scope?: Scope }): CheckpointStorage;
  removeThread(threadId: string): Promise<void>;
  close(): Promise<void>;
}

const DEFAULT = "postgres";

export function createStorages({
  db,
  redisUrl,
}: {
  db: Database;
  redisUrl: string | undefined;
}): CheckpointStorages {
  const backends = new Map<string, CheckpointBackend<Scope>>([
    [DEFAULT, createPostgresStorage({ db })],
    ["memory", createMemoryStorage()],
    ...(redisUrl === undefined ? [] : [["redis", createRedisStorage({ url: redisUrl })] as const]),
  ]);
  return {
    open(name = DEFAULT, place) {
      const backend = backends.get(name);
      if (backend) return backend.open(place);
      throw new AppError(
        "unknown_storage",
        `There is no storage "${name}" for checkpoints; there is ${[...backends.keys()].join(", ")}.`,
      );
    },
    async removeThread(threadId) {
      for (const backend of backends.values()) await backend.removeThread(threadId);
    },
    async close() {
      for (const backend of backends.values()) await backend.close();
    },
  };
}
