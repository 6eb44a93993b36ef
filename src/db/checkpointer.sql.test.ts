import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { PUT, PUT_WITH_WRITES, PUT_WRITES_ONCE, PUT_WRITES_REPLACE } from "./checkpointer.sql.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The plan of a statement, where PostgreSQL reads a whole table only if it has to. */
const plan = (statement: string, values: readonly unknown[]) =>
  database.db.transaction(async (tx) => {
    await tx.query("set local enable_seqscan = off");
    return JSON.stringify(await tx.query(`explain ${statement}`, values));
  });

const id = randomUUID();

it("a checkpoint with a token finds its thread by the primary key, however many threads there are", async () => {
  const values = [id, "1", "", "checkpoint", null, "{}", "{}", [], [], [], []];
  expect(await plan(PUT, values)).toContain("threads_pkey");
  expect(await plan(PUT_WITH_WRITES, [...values, [], [], [], [], []])).toContain("threads_pkey");
});

it("so do the writes of a task", async () => {
  const values = [id, "1", "", "checkpoint", [], [], [], [], []];
  expect(await plan(PUT_WRITES_ONCE, values)).toContain("threads_pkey");
  expect(await plan(PUT_WRITES_REPLACE, values)).toContain("threads_pkey");
});

it("without a token a thread's id may be any text", async () => {
  const values = ["no uuid", null, "", "checkpoint", null, "{}", "{}", [], [], [], []];
  expect(await database.db.query(PUT, values)).toHaveLength(1);
});
