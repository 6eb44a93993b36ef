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

/** A thread whose newest token is 5. */
async function ownThread(): Promise<string> {
  const thread = randomUUID();
  await database.db.query("insert into heddle.threads (thread_id, fencing_token) values ($1::uuid, 5)", [
    thread,
  ]);
  return thread;
}
const input = { source: "input" as const, step: -1, parents: {} };
const idsOf = async (thread: string) => {
  const ids: string[] = [];
  for await (const { checkpoint: stored } of saver.list(at(thread))) ids.push(stored.id);
  return ids;
};

it("a run's input is stored with the first step and its tasks' writes, in one statement and in order", async () => {
  const thread = await ownThread();
  const before = database.db.statements();
  await saver.put(at(thread, undefined, "5"), checkpoint("b"), input, {});
  const writing = saver.putWrites(at(thread, "b", "5"), [["a", 1]], "task");
  for (let i = 0; i < 20; i++) await Promise.resolve();
  await Promise.all([writing, saver.put(at(thread, "b", "5"), checkpoint("a"), metadata, {})]);
  expect(database.db.statements() - before).toBe(1);
  expect(await idsOf(thread)).toEqual(["a", "b"]);
  expect(await writesOf(thread, "b")).toEqual([["task", "a", 1]]);
  expect((await saver.getTuple(at(thread, "a")))?.parentConfig).toEqual(at(thread, "b"));
});

it("it does not wait for a step that takes long; what follows waits until it is stored", async () => {
  const thread = await ownThread();
  await saver.put(at(thread, undefined, "5"), checkpoint("b"), input, {});
  await expect.poll(() => idsOf(thread)).toEqual(["b"]);
  const other = await ownThread();
  await saver.put(at(other, undefined, "5"), checkpoint("b"), input, {});
  await new Promise(setImmediate);
  await saver.put(at(other, "b", "5"), checkpoint("a"), metadata, {});
  expect(await idsOf(other)).toEqual(["a", "b"]);
});

it("at the end of a run it is stored, or its failure is told, to what follows it as well", async () => {
  const thread = await ownThread();
  await saver.put(at(thread, undefined, "5"), checkpoint("1"), input, {});
  await saver.settle(thread, "5");
  expect(await idsOf(thread)).toEqual(["1"]);

  await saver.put(at(thread, "1", "4"), checkpoint("2"), input, {});
  await new Promise(setImmediate);
  await expect(saver.put(at(thread, "2", "4"), checkpoint("3"), metadata, {})).rejects.toThrow(FencedError);
  await expect(saver.settle(thread, "4")).rejects.toThrow(FencedError);
  // It is told once: another run of the thread has nothing to do with it.
  await saver.settle(thread, "4");
  expect(await idsOf(thread)).toEqual(["1"]);
});

it("without a run, as when a state is written, it is stored before the call returns", async () => {
  const thread = randomUUID();
  await saver.put(at(thread), checkpoint("1"), input, {});
  expect(await idsOf(thread)).toEqual(["1"]);
});
