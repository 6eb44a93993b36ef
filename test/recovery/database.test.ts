// Connections that break at a bad moment: an error for whoever used them, and for nobody else.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

describe("a connection that breaks in the middle of a transaction", () => {
  it("ends the transaction, not the process, and the next one gets another connection", async () => {
    const { db } = database;
    const before = await db.query("select count(*) as threads from heddle.threads");
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    db.pool.once("acquire", (client) => client.once("end", resolve));
    const transaction = db.transaction(async (tx) => {
      await tx.query("insert into heddle.threads (thread_id) values (gen_random_uuid())");
      const [backend] = await tx.query<{ pid: number }>("select pg_backend_pid() as pid");
      // Between two statements: nobody waits for an answer that could carry the error.
      await db.query("select pg_terminate_backend($1::integer)", [backend?.pid]);
      await ended;
      await tx.query("select 1");
    });
    await expect(transaction).rejects.toMatchObject({ code: "database_unavailable" });
    expect(await db.query("select count(*) as threads from heddle.threads")).toEqual(before);
  });
});
