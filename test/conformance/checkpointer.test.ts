// The official suite for checkpointers, on ours.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { Checkpointer } from "../../src/db/checkpointer.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

// The suite takes its functions from the global scope, as Jest gives them.
for (const [name, value] of Object.entries({
  afterAll,
  afterEach,
  beforeAll,
  beforeEach,
  describe,
  expect,
  it,
})) {
  vi.stubGlobal(name, value);
}
const { deltaChannelHistoryTests, specTest } = await import("@langchain/langgraph-checkpoint-validation");

let database: TestDatabase;
const initializer = {
  checkpointerName: "Heddle's checkpointer",
  async beforeAll() {
    database = await createTestDatabase();
  },
  async afterAll() {
    await database.drop();
  },
  async createCheckpointer() {
    await database.db.query("truncate heddle.checkpoints, heddle.checkpoint_blobs, heddle.checkpoint_writes");
    return new Checkpointer(database.db);
  },
};

specTest(initializer);
deltaChannelHistoryTests(initializer);
