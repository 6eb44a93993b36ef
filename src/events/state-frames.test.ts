import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { Checkpoint } from "@langchain/langgraph-checkpoint";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { Checkpointer, FENCE_KEY } from "../db/checkpointer.ts";
import { type StateFrames, watchStates } from "./state-frames.ts";
import { rebuildState, type StatePointer } from "./state-pointer.ts";
import { toWireJson } from "./wire-json.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const METADATA = { source: "loop", step: 0, parents: {} } as const;
const long = (text: string) => text.repeat(600);

/** A thread with token 1, watched, and how to put a state of it. */
async function watched() {
  const [row] = await database.db.query<{ thread_id: string }>(
    "insert into heddle.threads (thread_id, fencing_token) values (gen_random_uuid(), 1) returning thread_id",
  );
  const threadId = row?.thread_id ?? "";
  const checkpointer = new Checkpointer(database.db);
  const frames = watchStates(checkpointer, { threadId, token: "1", subgraphs: true });
  let count = 0;
  let versions: Record<string, string> = {};
  const put = (values: Record<string, unknown>, changed = Object.keys(values), ns = "") => {
    count++;
    const news = Object.fromEntries(changed.map((channel) => [channel, `v${count}`]));
    versions = { ...versions, ...news };
    const checkpoint: Checkpoint = {
      v: 4,
      id: `c${count}`,
      ts: "",
      channel_values: values,
      channel_versions: versions as never,
      versions_seen: {},
    };
    const configurable = { thread_id: threadId, checkpoint_ns: ns, [FENCE_KEY]: "1" };
    return checkpointer.put({ configurable }, checkpoint, METADATA, news as never);
  };
  const rebuild = async (pointer: string) => {
    const parsed = JSON.parse(pointer) as StatePointer;
    const { checkpoint_ns, checkpoint_id } = parsed;
    const tuple = await checkpointer.getTuple({
      configurable: { thread_id: threadId, checkpoint_ns, checkpoint_id },
    });
    return rebuildState(parsed, tuple?.checkpoint.channel_values ?? {});
  };
  return { threadId, frames, put, rebuild };
}

async function pointerTo(
  frames: StateFrames,
  state: object,
  ns: readonly string[] = [],
): Promise<StatePointer> {
  const { data, pointer } = await frames.render(ns, state);
  expect(data).toBe(toWireJson(state));
  return JSON.parse(pointer ?? "null");
}

describe("a state that is rendered", () => {
  it("is a pointer at the checkpoint that has it, and comes back from there", async () => {
    const { frames, put, rebuild } = await watched();
    const state = { messages: [new HumanMessage({ id: "1", content: long("a") })], title: "t" };
    await put(state);
    const { data, pointer = "" } = await frames.render([], state);
    expect(data).toBe(toWireJson(state));
    expect(JSON.parse(pointer)).toMatchObject({
      checkpoint_id: "c1",
      channels: [
        ["messages", [1]],
        ["title", null],
      ],
    });
    expect(await rebuild(pointer)).toBe(data);
  });

  it("is a pointer at the right one of several, for a reader of the stream that lags behind", async () => {
    const { frames, put } = await watched();
    const states = ["a", "b", "c"].map((text) => ({ items: [long(text)], same: long("same") }));
    for (const state of states) await put(state);
    for (const [index, state] of states.entries()) {
      expect(await pointerTo(frames, state)).toMatchObject({ checkpoint_id: `c${index + 1}` });
    }
  });

  it("goes with its text where the checkpoint differs: elements of a list, or a whole channel", async () => {
    const { frames, put, rebuild } = await watched();
    const messages: BaseMessage[] = ["1", "2", "3"].map((id) => new AIMessage({ id, content: long(id) }));
    const before = { messages, info: { text: long("info") } };
    await put(before);
    const second = messages[1];
    if (second) second.content = "changed in place";
    const after = {
      messages: [...messages, new AIMessage({ id: "4", content: "new" })],
      info: { text: "x" },
    };
    const { data, pointer = "" } = await frames.render([], after);
    expect(JSON.parse(pointer).channels).toEqual([
      ["messages", [1, toWireJson(second), 1, toWireJson(after.messages[3])]],
      ["info", '{"text":"x"}'],
    ]);
    expect(await rebuild(pointer)).toBe(data);
  });

  it("is not taken for what a channel held that was changed in place and not stored again", async () => {
    const { frames, put } = await watched();
    const info: Record<string, unknown> = { text: long("before") };
    await put({ info, other: 1 });
    info.text = long("after");
    await put({ info, other: 2 }, ["other"]);
    const state = { info, other: 2 };
    expect(await frames.render([], state)).toEqual({ data: toWireJson(state) });
  });

  it("is its text as long as it is small, and when no checkpoint has any of it", async () => {
    const { frames, put } = await watched();
    await put({ a: 1 });
    expect(await frames.render([], { a: 1 })).toEqual({ data: '{"a":1}' });
    const state = { a: long("never stored") };
    expect(await frames.render([], state)).toEqual({ data: toWireJson(state) });
    expect(await frames.render(["elsewhere:1"], state)).toEqual({ data: toWireJson(state) });
    expect(await frames.render([], long("one channel"))).toEqual({ data: toWireJson(long("one channel")) });
  });

  it("of a subgraph is remembered as long as there are not too many; that of the root graph always", async () => {
    const { frames, put } = await watched();
    const root = { root: long("root") };
    await put(root);
    for (let i = 0; i < 150; i++) await put({ text: long(`${i}`) }, ["text"], `child:${i}`);
    expect(await pointerTo(frames, root)).toMatchObject({ checkpoint_ns: "", checkpoint_id: "c1" });
    expect(await pointerTo(frames, { text: long("149") }, ["child:149"])).toMatchObject({
      checkpoint_ns: "child:149",
    });
    expect((await frames.render(["child:0"], { text: long("0") })).pointer).toBeUndefined();
  });
});

it("a channel that was stored before the watch began is not trusted", async () => {
  const { frames, put } = await watched();
  const info: Record<string, unknown> = { text: long("before") };
  // Nothing is remembered of it: too many others came after it.
  await put({ info, other: 1 }, ["info", "other"], "child:0");
  for (let i = 1; i < 150; i++) await put({ i }, ["i"], `child:${i}`);
  info.text = long("after");
  await put({ info, other: 2 }, ["other"], "child:0");
  const state = { info, other: 2 };
  expect(await frames.render(["child:0"], state)).toEqual({ data: toWireJson(state) });
});

describe("a checkpoint that is being written", () => {
  it("is waited for: no pointer is given before it is committed", async () => {
    const { threadId, frames, put } = await watched();
    const state = { text: long("a") };
    let rendered = false;
    let writing: Promise<unknown> | undefined;
    let rendering: Promise<unknown> | undefined;
    await database.db.transaction(async (tx) => {
      await tx.query("select 1 from heddle.threads where thread_id = $1::uuid for update", [threadId]);
      writing = put(state);
      rendering = frames.render([], state).then((result) => {
        rendered = true;
        return result;
      });
      // Long enough for the put to be where it has to wait.
      await expect
        .poll(() =>
          tx.query("select 1 from pg_locks where not granted and locktype in ('transactionid', 'tuple')"),
        )
        .not.toEqual([]);
      expect(rendered).toBe(false);
    });
    await writing;
    expect(await rendering).toMatchObject({ pointer: expect.stringContaining('"c1"') });
  });

  it("is not pointed at when it fails", async () => {
    const { threadId, frames, put } = await watched();
    await database.db.query("update heddle.threads set fencing_token = 2 where thread_id = $1::uuid", [
      threadId,
    ]);
    const state = { text: long("a") };
    const writing = put(state);
    expect(await frames.render([], state)).toEqual({ data: toWireJson(state) });
    await expect(writing).rejects.toThrow("Another worker");
  });
});
