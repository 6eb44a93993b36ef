// Forks of a thread, with our checkpointer.
import { afterAll, beforeAll, describe } from "vitest";
import { Checkpointer } from "../../src/db/checkpointer.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { forkSuite } from "./fork-suite.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe("Heddle's checkpointer", () => {
  forkSuite(() => new Checkpointer(database.db));
});
