// Threads that the official PostgresSaver wrote go on here, and ours go on there.
import { execFile } from "node:child_process";
import { randomUUID } from "node:crypto";
import path from "node:path";
import { promisify } from "node:util";
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { Annotation, Command, interrupt, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readCommand, transfer } from "../../scripts/threads.ts";
import { Checkpointer } from "../../src/db/checkpointer.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { human, lastText } from "../helpers/sdk.ts";

let heddle: TestApp;
let other: TestDatabase;
let stock: PostgresSaver;
beforeAll(async () => {
  heddle = await startApp();
  other = await createTestDatabase({ empty: true });
  stock = new PostgresSaver(other.db.pool, undefined, { schema: "agents" });
  await stock.setup();
});
afterAll(async () => {
  await other.drop();
  await heddle.close();
});

/** The command line, without the process. */
async function run(...args: string[]): Promise<string[]> {
  const lines: string[] = [];
  const command = readCommand([...args, "--schema", "agents"]);
  await transfer(heddle.database.db, other.db, command, (line) => lines.push(line));
  return lines;
}
const fetchIn = (...ids: string[]) => run("import", "--from", other.url, "--graph", "script", ...ids);
const giveBack = (...ids: string[]) => run("export", "--to", other.url, ...ids);

const Outer = Annotation.Root({ ...MessagesAnnotation.spec, count: Annotation<number> });
const Inner = Annotation.Root({
  count: Annotation<number>,
  notes: Annotation<readonly string[]>({
    reducer: (before, more) => [...before, ...more],
    default: () => [],
  }),
});

/** A graph like the server's "script", with a subgraph that has a memory of its own. */
function build(checkpointer: BaseCheckpointSaver) {
  const inner = new StateGraph(Inner)
    .addNode("note", ({ notes }) => ({ notes: ["note"], count: notes.length + 1 }))
    .addEdge("__start__", "note")
    .compile({ checkpointer: true });
  return new StateGraph(Outer)
    .addNode("act", ({ messages }: { messages: BaseMessage[] }) => {
      const text = messages.at(-1)?.text ?? "";
      const answer = text.startsWith("ask ") ? String(interrupt(text.slice(4))) : text;
      return { messages: [new AIMessage(`${messages.length} ${answer}`)] };
    })
    .addNode("inner", inner)
    .addEdge("__start__", "act")
    .addEdge("act", "inner")
    .compile({ checkpointer });
}
type Graph = ReturnType<typeof build>;

const at = (thread_id: string, checkpoint_id?: string) => ({
  configurable: { thread_id, ...(checkpoint_id === undefined ? {} : { checkpoint_id }) },
});
const say = async (graph: Graph, thread: string, text: string, from?: string) => {
  await graph.invoke({ messages: [{ role: "user", content: text }] }, at(thread, from));
  return String((await graph.getState(at(thread))).config.configurable?.checkpoint_id);
};
async function history(graph: Graph, thread: string) {
  const states = [];
  for await (const { values, config, parentConfig, next, tasks, metadata } of graph.getStateHistory(
    at(thread),
  )) {
    states.push({
      messages: (values.messages ?? []).map(({ type, text }: BaseMessage): string => `${type}: ${text}`),
      count: values.count,
      id: config.configurable?.checkpoint_id,
      parent: parentConfig?.configurable?.checkpoint_id,
      next,
      interrupts: tasks.flatMap((task) => task.interrupts),
      metadata,
    });
  }
  return states;
}

const stockGraph = () => build(stock);
const ownGraph = () => build(new Checkpointer(heddle.database.db));

describe("a thread of the official saver", () => {
  it("has the same history here, and goes on like there", async () => {
    const thread = randomUUID();
    for (const text of ["one", "two", "three"]) await say(stockGraph(), thread, text);
    const before = await history(stockGraph(), thread);
    expect(await fetchIn(thread)).toEqual([
      `${thread}: ${before.length + 9} checkpoints`,
      "1 of 1 threads transferred.",
    ]);
    expect(await history(ownGraph(), thread)).toEqual(before);
    await say(ownGraph(), thread, "four");
    await say(stockGraph(), thread, "four");
    const values = (states: Awaited<ReturnType<typeof history>>) =>
      states.map(({ messages, count }) => ({ messages, count }));
    expect(values(await history(ownGraph(), thread))).toEqual(values(await history(stockGraph(), thread)));
    expect((await history(ownGraph(), thread))[0]).toMatchObject({ count: 4 });
  });

  it("is shown by the server and goes on there, also when its name is no UUID", async () => {
    const name = `customer/${randomUUID()}`;
    await say(stockGraph(), name, "one");
    const [line] = await fetchIn(name);
    const id = line?.match(/ as ([0-9a-f-]{36}): /)?.[1] ?? "";
    const thread = await heddle.client.threads.get(id);
    expect(thread).toMatchObject({ status: "idle", metadata: { graph_id: "script", imported_from: name } });
    expect(lastText(thread.values)).toBe("1 one");
    const values = await heddle.client.runs.wait(id, "script", { input: human("do it") });
    expect(lastText(values)).toBe("3 it");
    expect((await fetchIn(name))[0]).toBe(`${name} as ${id}: nothing new`);
  });

  it("is interrupted here when it was there, and goes on with the answer", async () => {
    const thread = randomUUID();
    await say(stockGraph(), thread, "ask why");
    await fetchIn(thread);
    const shown = await heddle.client.threads.get(thread);
    expect(shown.status).toBe("interrupted");
    expect(Object.values(shown.interrupts).flat()).toMatchObject([{ value: "why" }]);
    const values = await heddle.client.runs.wait(thread, "script", { command: { resume: "because" } });
    expect(lastText(values)).toBe("1 because");
  });

  it("forks here as it should", async () => {
    const thread = randomUUID();
    const first = await say(stockGraph(), thread, "one");
    await say(stockGraph(), thread, "two");
    await fetchIn(thread);
    await say(ownGraph(), thread, "other", first);
    const [newest] = await history(ownGraph(), thread);
    expect(newest?.messages).toContain("human: other");
    expect(newest?.messages).not.toContain("human: two");
  });

  it("brings what is new when it comes again, and nothing when both sides have gone on", async () => {
    const thread = randomUUID();
    await say(stockGraph(), thread, "one");
    await fetchIn(thread);
    await say(stockGraph(), thread, "two");
    await fetchIn(thread);
    expect(await history(ownGraph(), thread)).toEqual(await history(stockGraph(), thread));
    await say(ownGraph(), thread, "here");
    expect((await fetchIn(thread))[0]).toBe(`${thread}: nothing new`);
    await say(stockGraph(), thread, "there");
    const before = await history(ownGraph(), thread);
    expect(await fetchIn(thread)).toEqual([
      expect.stringContaining(`${thread}: not transferred. It has gone on on both sides.`),
      "0 of 1 threads transferred.",
    ]);
    expect(await history(ownGraph(), thread)).toEqual(before);
  });
});

describe("a thread of ours", () => {
  const conversation = async (...texts: string[]) => {
    const { thread_id } = await heddle.client.threads.create();
    for (const text of texts) await heddle.client.runs.wait(thread_id, "script", { input: human(text) });
    return thread_id;
  };

  it("has the same history there, and goes on like here", async () => {
    const thread = await conversation();
    for (const text of ["one", "two", "three"]) await say(ownGraph(), thread, text);
    await giveBack(thread);
    expect(await history(stockGraph(), thread)).toEqual(await history(ownGraph(), thread));
    expect((await giveBack(thread))[0]).toBe(`${thread}: nothing new`);
    await say(stockGraph(), thread, "four");
    await say(ownGraph(), thread, "four");
    const [there] = await history(stockGraph(), thread);
    expect(there?.messages).toEqual((await history(ownGraph(), thread))[0]?.messages);
  });

  it("waits there for the answer that it waits for here", async () => {
    const thread = await conversation("ask why");
    await giveBack(thread);
    const [state] = await history(stockGraph(), thread);
    expect(state?.interrupts).toMatchObject([{ value: "why" }]);
    await stockGraph().invoke(new Command({ resume: "because" }), at(thread));
    expect((await history(stockGraph(), thread))[0]?.messages).toContain("ai: 1 because");
  });

  it("keeps its branches apart there, whichever goes on", async () => {
    const thread = await conversation();
    const first = await say(ownGraph(), thread, "one");
    const left = await say(ownGraph(), thread, "left");
    const right = await say(ownGraph(), thread, "right", first);
    // The newest is a copy of the oldest: the official saver counts on from there, over what the branches have.
    await ownGraph().updateState(at(thread, first), null, "__copy__");
    await giveBack(thread);
    expect(await history(stockGraph(), thread)).toEqual(await history(ownGraph(), thread));
    await say(stockGraph(), thread, "on");
    const [on] = await history(stockGraph(), thread);
    expect(on?.messages.filter((text: string) => text.startsWith("human"))).toEqual([
      "human: one",
      "human: on",
    ]);
    const shown = async (graph: Graph, id: string) => (await graph.getState(at(thread, id))).values.messages;
    for (const id of [left, right]) {
      expect(await shown(stockGraph(), id)).toEqual(await shown(ownGraph(), id));
    }
  });

  it("goes there and back and there again as it grows", async () => {
    const thread = await conversation();
    await say(ownGraph(), thread, "one");
    for (const text of ["two", "three"]) {
      await giveBack(thread);
      await say(stockGraph(), thread, `${text} there`);
      await fetchIn(thread);
      await say(ownGraph(), thread, `${text} here`);
    }
    await giveBack(thread);
    const states = await history(stockGraph(), thread);
    expect(states).toEqual(await history(ownGraph(), thread));
    expect(states[0]?.messages.filter((text: string) => text.startsWith("human"))).toEqual(
      ["one", "two there", "two here", "three there", "three here"].map((text) => `human: ${text}`),
    );
  });

  it("is not given away while it runs, nor when the other would not find its newest checkpoint", async () => {
    const { thread_id } = await heddle.client.threads.create();
    await heddle.client.runs.create(thread_id, "script", { input: human("do it"), afterSeconds: 3600 });
    expect((await giveBack(thread_id))[0]).toContain("It has a run that is pending or running.");
    const behind = await conversation("one", "two");
    // As a worker makes it whose clock is an hour behind.
    await heddle.database.db.query(
      `update heddle.checkpoints set checkpoint_id = '0' || substr(checkpoint_id, 2)
       where seq = (select max(seq) from heddle.checkpoints where thread_id = $1::text)`,
      [behind],
    );
    expect((await giveBack(behind))[0]).toContain("Run the thread once more.");
    expect((await fetchIn(behind))[0]).toContain("There is no checkpoint of this thread.");
  });

  it("that was restored is given away once it has gone on", async () => {
    const thread = await conversation("one");
    const at = (path: string) =>
      fetch(`${heddle.url}/threads/${thread}/checkpoints${path}`, { method: "POST" });
    const { checkpoint_id } = (await (await at("")).json()) as { checkpoint_id: string };
    await say(ownGraph(), thread, "two");
    expect((await at(`/${checkpoint_id}/restore`)).status).toBe(200);
    expect((await giveBack(thread))[0]).toMatch(/it was restored, or .*Run the thread once more\.$/);
    await say(ownGraph(), thread, "three");
    await giveBack(thread);
    const texts = (await history(stockGraph(), thread))[0]?.messages as string[];
    expect(texts.filter((text) => text.startsWith("human"))).toEqual(["human: one", "human: three"]);
  });

  it("is not left half done when something fails in between", async () => {
    const thread = await conversation("one");
    await other.db.query("alter table agents.checkpoint_writes rename to away");
    await expect(giveBack(thread)).rejects.toThrow("checkpoint_writes");
    await other.db.query("alter table agents.away rename to checkpoint_writes");
    expect(await other.db.query("select 1 from agents.checkpoints where thread_id = $1", [thread])).toEqual(
      [],
    );
    expect(
      await other.db.query("select 1 from agents.checkpoint_blobs where thread_id = $1", [thread]),
    ).toEqual([]);
  });
});

describe("the command", () => {
  it.each([
    [["copy"], /Say import or export/],
    [["import", "--all"], /import takes --from/],
    [["export", "--from", "postgresql://x", "--all"], /export takes --to/],
    [["import", "--from", "postgresql://x"], /Name threads, or say --all/],
    [["import", "--from", "postgresql://x", "--all", "one"], /Name threads, or say --all/],
    [["import", "--from", "postgresql://x", "--schema", "heddle", "--all"], /Heddle's own/],
    [["import", "--form", "postgresql://x", "--all"], /--form/],
  ])("%j says what is wrong", (args, message) => {
    expect(() => readCommand(args)).toThrow(message);
  });

  it("takes all threads, says what it could not take, and where there are none", async () => {
    await other.db.query(
      `insert into agents.checkpoints (thread_id, checkpoint_id, checkpoint) values ('python', '1', '{}')`,
    );
    await other.db.query(
      `insert into agents.checkpoint_blobs (thread_id, channel, version, type) values ('python', 'a', '1', 'msgpack')`,
    );
    const lines = await run("import", "--from", other.url, "--all");
    expect(lines).toContainEqual(expect.stringMatching(/^python: not transferred\. .*msgpack/));
    expect(lines.length).toBeGreaterThan(5);
    const elsewhere = readCommand(["import", "--from", other.url, "--schema", "nowhere", "--all"]);
    await expect(transfer(heddle.database.db, other.db, elsewhere, () => undefined)).rejects.toThrow(
      "The schema nowhere has no checkpoint tables",
    );
  });

  it("is a process that ends with 1 when a thread was not transferred, and says what to do next", async () => {
    const thread = randomUUID();
    await say(stockGraph(), thread, "one");
    const start = (...args: string[]) =>
      promisify(execFile)(process.execPath, ["scripts/threads.ts", ...args], {
        cwd: path.resolve(import.meta.dirname, "../.."),
        env: { PATH: process.env.PATH, DATABASE_URL: heddle.database.url, DATA_DIR: heddle.dataDir },
      });
    const from = ["--from", other.url, "--schema", "agents"];
    const { stdout } = await start("import", ...from, thread);
    expect(stdout).toMatch(new RegExp(`^${thread}: \\d+ checkpoints\n1 of 1 threads transferred.\n$`));
    await expect(start("import", ...from, "nobody")).rejects.toMatchObject({
      code: 1,
      stdout: expect.stringContaining("nobody: not transferred."),
    });
    await expect(start("export", "--to", "postgresql://127.0.0.1:9/none", thread)).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^The other database does not answer: .*ECONNREFUSED/),
    });
    await expect(start("import", "--all")).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/import takes --from.*\nNext: npm run threads/),
    });
  });
});
