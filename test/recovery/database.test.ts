// Connections that break at a bad moment: an error for whoever used them, and for nobody else. And connections that
// are not what they were: statements that were prepared on them are gone, or mean something else.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createDatabase, type Database } from "../../src/db/database.ts";
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

it("a value that is larger than PostgreSQL can store is told from what is wrong with the server", async () => {
  const { db } = database;
  const insert = db.transaction(async (tx) => {
    await tx.query("create temp table names (name text primary key) on commit drop");
    await tx.query("insert into names select string_agg(md5(i::text), '') from generate_series(1, 10000) i");
  });
  await expect(insert).rejects.toMatchObject({
    code: "payload_too_large",
    message: expect.stringContaining("index row"),
  });
});

describe("a prepared statement", () => {
  let db: Database;
  beforeEach(() => {
    db = createDatabase({ url: database.url, max: 1, onError: () => undefined });
  });
  afterEach(() => db.close());

  const add = "select $1::integer + 1 as sum";
  const prepared = async () =>
    (await db.query<{ statement: string }>("select statement from pg_prepared_statements")).map(
      (row) => row.statement,
    );

  it("is what a statement with values becomes, once per connection", async () => {
    for (const value of [1, 2]) expect(await db.query(add, [value])).toEqual([{ sum: value + 1 }]);
    expect(await prepared()).toEqual([add]);
  });

  // What a pooler in transaction mode does: the next transaction is on another connection.
  it("that the connection does not have is sent unprepared, and so is every later one", async () => {
    await db.query(add, [1]);
    await db.query("deallocate all");
    expect(await db.query(add, [2])).toEqual([{ sum: 3 }]);
    expect(await prepared()).toEqual([]);
  });

  it("that the connection does not have repeats the transaction that it is in", async () => {
    await db.query(add, [1]);
    await db.query("deallocate all");
    const rows = await db.transaction(async (tx) => {
      await tx.query("create table once (number integer)");
      return await tx.query(add, [2]);
    });
    expect(rows).toEqual([{ sum: 3 }]);
  });

  it("that the connection has from another client is sent unprepared", async () => {
    const other = createDatabase({ url: database.url, max: 1, onError: () => undefined });
    await other.query(add, [1]);
    const [row] = await other.query<{ name: string }>("select name from pg_prepared_statements");
    await other.close();
    await db.query(`prepare "${row?.name}" as ${add}`);
    expect(await db.query(add, [2])).toEqual([{ sum: 3 }]);
  });

  it("whose rows a migration has changed is sent unprepared", async () => {
    const all = "select * from changed where $1::boolean";
    await db.query("create table changed (number integer)");
    await db.query(all, [true]);
    await db.query("alter table changed alter number type text");
    await db.query("insert into changed values ('one')");
    expect(await db.query(all, [true])).toEqual([{ number: "one" }]);
  });
});
