// The storages of named checkpoints against what every storage must do.
import { randomUUID } from "node:crypto";
import { createClient } from "@redis/client";
import { describe, expect, it } from "vitest";
import { createMemoryStorage } from "../../src/checkpoints/memory-storage.ts";
import { createPostgresStorage } from "../../src/checkpoints/postgres-storage.ts";
import { createRedisStorage } from "../../src/checkpoints/redis-storage.ts";
import { createDatabase } from "../../src/db/database.ts";
import { insertThread } from "../../src/threads/threads.sql.ts";
import { createCosmosStorage } from "../fixtures/checkpoints/cosmos-storage.ts";
import { startCosmos } from "../helpers/cosmos-stand-in.ts";
import { createTestDatabase } from "../helpers/database.ts";
import { hasRedis, startRedis } from "../helpers/redis.ts";
import { aCheckpoint, describeStorage } from "./checkpoint-storage-suite.ts";

describeStorage("memory", async () => {
  const backend = createMemoryStorage();
  return {
    backend,
    newThread: async () => randomUUID(),
    removeThread: backend.removeThread,
    close: backend.close,
  };
});

describeStorage("PostgreSQL", async () => {
  const database = await createTestDatabase();
  // Of its own, so that it can be closed before the test's.
  const db = createDatabase({ url: database.url, onError: () => undefined });
  return {
    backend: createPostgresStorage({ db }),
    async newThread() {
      const threadId = randomUUID();
      await insertThread(database.db, threadId, {});
      return threadId;
    },
    removeThread: async (threadId) =>
      void (await database.db.query("delete from heddle.threads where thread_id = $1::uuid", [threadId])),
    damage: async (threadId, checkpointId, text) =>
      void (await database.db.query(
        "update heddle.workflow_checkpoints set document = $3 where thread_id = $1 and checkpoint_id = $2",
        [threadId, checkpointId, text],
      )),
    disconnect: db.close,
    close: database.drop,
  };
});

describeStorage("Azure Cosmos DB, a storage of one's own", async () => {
  const cosmos = await startCosmos();
  const backend = createCosmosStorage(cosmos.options);
  return {
    backend,
    newThread: async () => randomUUID(),
    removeThread: backend.removeThread,
    disconnect: async () => void (await cosmos.close()),
    close: backend.close,
  };
});

describe.skipIf(!hasRedis)("with a Redis", () => {
  describeStorage("Redis", async () => {
    const redis = await startRedis();
    const backend = createRedisStorage({ url: redis.url });
    const client = await createClient({ url: redis.url })
      .on("error", () => undefined)
      .connect();
    return {
      backend,
      newThread: async () => randomUUID(),
      removeThread: backend.removeThread,
      damage: async (threadId, checkpointId, text) =>
        void (await client.hSet(`heddle:checkpoints:{${threadId}}:documents`, checkpointId, text)),
      disconnect: redis.close,
      async close() {
        client.destroy();
        await backend.close();
        await redis.close();
      },
    };
  });
});

describe("memory", () => {
  it("is bounded: the oldest checkpoints go, never the one that is saved", async () => {
    const one = JSON.stringify(aCheckpoint()).length;
    const storage = createMemoryStorage({ maxLength: one * 2.5 }).open({ threadId: randomUUID() });
    const saved = [aCheckpoint(), aCheckpoint(), aCheckpoint()];
    for (const checkpoint of saved) await storage.save(checkpoint);
    expect(await storage.listIds()).toEqual([saved[2]?.checkpoint_id, saved[1]?.checkpoint_id]);
    const large = aCheckpoint({ metadata: { text: "x".repeat(one * 3) } });
    await storage.save(large);
    expect(await storage.listIds()).toEqual([large.checkpoint_id]);
  });
});
