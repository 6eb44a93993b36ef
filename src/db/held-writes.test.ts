import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { Checkpointer, FENCE_KEY, FencedError } from "./checkpointer.ts";

let database: TestDatabase;
let saver: Checkpointer;
beforeAll(async () => {
  database = await createTestDatabase();
  saver = new Checkpointer(database.db);
});
afterAll(() => database.drop());

const at = (thread_id: string, checkpoint_id?: string, fence?: string) => ({
  configurable: {
    thread_id,
    checkpoint_ns: "",
    ...(checkpoint_id ? { checkpoint_id } : {}),
    ...(fence ? { [FENCE_KEY]: fence } : {}),
  },
});
const checkpoint = (id: string) => ({
  v: 4,
  id,
  ts: "",
  channel_values: {},
  channel_versions: {},
  versions_seen: {},
});
const metadata = { source: "loop" as const, step: 0, parents: {} };
const writesOf = async (thread: string, id: string) =>
  (await saver.getTuple(at(thread, id)))?.pendingWrites?.map(([task, channel, value]) => [
    task,
    channel,
    value,
  ]);

it("a task's writes are stored with the checkpoint that follows them, in one statement", async () => {
  const thread = randomUUID();
  await saver.put(at(thread), checkpoint("1"), metadata, {});
  const before = database.db.statements();
  const writes = [
    saver.putWrites(at(thread, "1"), [["a", 1]], "task 1"),
    saver.putWrites(at(thread, "1"), [["b", "two"]], "task 2"),
  ];
  // LangGraph does as much between the two, without a turn of the event loop.
  for (let i = 0; i < 20; i++) await Promise.resolve();
  await Promise.all([...writes, saver.put(at(thread, "1"), checkpoint("2"), metadata, {})]);
  expect(database.db.statements() - before).toBe(1);
  expect(await writesOf(thread, "1")).toEqual([
    ["task 1", "a", 1],
    ["task 2", "b", "two"],
  ]);
  expect(await writesOf(thread, "2")).toEqual([]);
});

it("they are stored without one as well, those of one moment together; a repeated task changes nothing", async () => {
  const thread = randomUUID();
  await saver.put(at(thread), checkpoint("1"), metadata, {});
  const before = database.db.statements();
  await Promise.all([
    saver.putWrites(at(thread, "1"), [["a", 1]], "task 1"),
    saver.putWrites(at(thread, "1"), [["b", 2]], "task 2"),
  ]);
  expect(database.db.statements() - before).toBe(1);
  await saver.putWrites(at(thread, "1"), [["a", 3]], "task 1");
  expect(await writesOf(thread, "1")).toEqual([
    ["task 1", "a", 1],
    ["task 2", "b", 2],
  ]);
});

it("they do not wait for a checkpoint of another parent, namespace or thread", async () => {
  const [thread, other] = [randomUUID(), randomUUID()];
  await saver.put(at(thread), checkpoint("1"), metadata, {});
  await Promise.all([
    saver.putWrites(at(thread, "1"), [["a", 1]], "task"),
    saver.put(at(other, "1"), checkpoint("2"), metadata, {}),
    saver.put(at(thread, "0"), checkpoint("3"), metadata, {}),
  ]);
  expect(await writesOf(thread, "1")).toEqual([["task", "a", 1]]);
  expect(await writesOf(other, "1")).toBeUndefined();
});

it("when the token is out of date nothing is stored, and both are told", async () => {
  const thread = randomUUID();
  await database.db.query("insert into heddle.threads (thread_id, fencing_token) values ($1::uuid, 5)", [
    thread,
  ]);
  await saver.put(at(thread, undefined, "5"), checkpoint("1"), metadata, {});
  const writing = saver.putWrites(at(thread, "1", "4"), [["a", 1]], "task");
  for (let i = 0; i < 20; i++) await Promise.resolve();
  const putting = saver.put(at(thread, "1", "4"), checkpoint("2"), metadata, {});
  const results = await Promise.allSettled([writing, putting]);
  for (const result of results)
    expect(result).toMatchObject({ status: "rejected", reason: expect.any(FencedError) });
  await expect(saver.putWrites(at(thread, "1", "4"), [["a", 1]], "task")).rejects.toThrow(FencedError);
  expect(await writesOf(thread, "1")).toEqual([]);
  expect(await saver.getTuple(at(thread, "2"))).toBeUndefined();
});
