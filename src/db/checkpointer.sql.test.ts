import { randomUUID } from "node:crypto";
import type { QueryResultRow } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { replaceWrites, storeBatch } from "./checkpointer.sql.ts";
import type { Queryable } from "./database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** The plan of a statement, where PostgreSQL reads a whole table only if it has to. */
const plan = (send: (db: Queryable) => Promise<unknown>) =>
  database.db.transaction(async (tx) => {
    await tx.query("set local enable_seqscan = off");
    let seen = "";
    const explaining: Queryable = {
      async query<Row extends QueryResultRow>(text: string, values?: readonly unknown[]) {
        const rows = await tx.query<Row>(`explain ${text}`, values);
        seen = JSON.stringify(rows);
        return rows;
      },
    };
    await send(explaining);
    return seen;
  });

const place = { threadId: randomUUID(), ns: "", checkpointId: null, fence: "1" };
const batch = {
  checkpoints: [{ id: "checkpoint", parentId: null, checkpoint: "{}", metadata: "{}" }],
  blobs: [],
  writes: [],
};

it("what is stored with a token finds its thread by the primary key, however many threads there are", async () => {
  expect(await plan((db) => storeBatch(db, place, batch))).toContain("threads_pkey");
  expect(await plan((db) => replaceWrites(db, place, []))).toContain("threads_pkey");
});

it("without a token a thread's id may be any text", async () => {
  expect(await storeBatch(database.db, { ...place, threadId: "no uuid", fence: null }, batch)).toBe(true);
});
