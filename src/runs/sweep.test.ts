import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import type { Graphs } from "../graphs/registry.ts";
import { createThreadStates } from "../threads/state.ts";
import { createThreads } from "../threads/threads.ts";
import { sweep } from "./sweep.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

function openThreads(db: Database) {
  const checkpointer = new Checkpointer(db);
  const graphs = { has: () => false } as unknown as Graphs;
  const states = createThreadStates({ db, graphs, checkpointer });
  const openStore = () => new InMemoryStore();
  return createThreads({
    db,
    graphs,
    checkpointer,
    openStore,
    states,
    toJson: JSON.stringify,
    ttl: undefined,
  });
}

it("a thread whose time is over is removed, one that has time or a run left is not", async () => {
  const { db } = database;
  const threads = openThreads(db);
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
  const runs = { deleteThread: threads.remove };
  expect(await sweep({ db, runs, threads })).toBe(1);
  expect(await sweep({ db, runs, threads })).toBe(0);
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
  const threads = openThreads(db);
  const { thread_id } = await threads.create({});
  await db.query(
    "update heddle.threads set delete_after = now() - interval '1 second' where thread_id = $1::uuid",
    [thread_id],
  );
  const twice = async (threadId: string) => {
    await threads.remove(threadId);
    await threads.remove(threadId);
  };
  expect(await sweep({ db, runs: { deleteThread: twice }, threads })).toBe(1);
});

it("a thread that keeps its latest state stays when its time is over, and is swept once", async () => {
  const { db } = database;
  const threads = openThreads(db);
  const ttl = { minutes: 60, strategy: "keep_latest" } as const;
  const { thread_id } = await threads.create({ ttl });
  await db.query(
    "update heddle.threads set delete_after = now() - interval '1 second' where thread_id = $1::uuid",
    [thread_id],
  );
  const runs = { deleteThread: threads.remove };
  expect(await sweep({ db, runs, threads })).toBe(1);
  expect(await threads.expiry(thread_id)).toMatchObject({ ttl_minutes: 60, expires_at: null });
  expect(await sweep({ db, runs, threads })).toBe(0);
  await threads.patch(thread_id, { metadata: {} });
  expect((await threads.expiry(thread_id))?.expires_at).toBeInstanceOf(Date);
});

it("a thread that has come to life since it was found is left alone", async () => {
  const { db } = database;
  const threads = openThreads(db);
  const { thread_id } = await threads.create({ ttl: { minutes: 60, strategy: "delete" } });
  const expired = { isExpired: true };
  await expect(threads.remove(thread_id, expired)).rejects.toThrow("not found");
  await expect(threads.keepLatest(thread_id, expired)).rejects.toThrow("not found");
  expect(await threads.get(thread_id)).toMatchObject({ thread_id });
});
