import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { createThreads } from "../threads/threads.ts";
import { sweep } from "./sweep.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it("a thread whose time is over is removed, one that has time or a run left is not", async () => {
  const { db } = database;
  const threads = createThreads({ db });
  const expired = await threads.create({ metadata: { name: "expired" } });
  const later = await threads.create({ metadata: { name: "later" } });
  const busy = await threads.create({ metadata: { name: "busy" } });
  await threads.create({ metadata: { name: "kept" } });
  const set = (threadId: string, when: string) =>
    db.query("update heddle.threads set delete_after = now() + $2::interval where thread_id = $1::uuid", [
      threadId,
      when,
    ]);
  await set(expired.thread_id, "-1 second");
  await set(later.thread_id, "1 hour");
  await set(busy.thread_id, "-1 second");
  await db.query(
    `insert into heddle.runs (run_id, thread_id, assistant_id, kwargs, multitask_strategy)
     values (gen_random_uuid(), $1::uuid, gen_random_uuid(), '{}', 'reject')`,
    [busy.thread_id],
  );
  const runs = { deleteThread: (threadId: string) => threads.remove(threadId) };
  expect(await sweep(db, runs)).toBe(1);
  expect(await sweep(db, runs)).toBe(0);
  const { threads: left } = await threads.search({
    limit: 10,
    offset: 0,
    sortBy: "created_at",
    sortOrder: "asc",
  });
  expect(left.map((thread) => thread.metadata.name)).toEqual(["later", "busy", "kept"]);
});

it("a thread that another process has removed in the meantime is no failure", async () => {
  const { db } = database;
  const threads = createThreads({ db });
  const { thread_id } = await threads.create({});
  await db.query(
    "update heddle.threads set delete_after = now() - interval '1 second' where thread_id = $1::uuid",
    [thread_id],
  );
  const twice = async (threadId: string) => {
    await threads.remove(threadId);
    await threads.remove(threadId);
  };
  expect(await sweep(db, { deleteThread: twice })).toBe(1);
});
