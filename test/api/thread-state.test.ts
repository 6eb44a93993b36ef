// State and history of forks, interrupts and subgraphs, read and changed from outside; copies of threads.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/threads/langgraph.json");

interface Values {
  log: string[];
  topic?: string;
}

let heddle: TestApp;
let client: NextClient<Values>;
beforeAll(async () => {
  heddle = await startApp({ graphs });
  client = new NextClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
});
afterAll(() => heddle.close());

const post = (route: string, body: unknown, method = "POST") =>
  fetch(heddle.url + route, {
    method,
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

async function run(graphId: string, input: object = {}): Promise<string> {
  const { thread_id } = await client.threads.create();
  await client.runs.wait(thread_id, graphId, { input: input as never });
  return thread_id;
}

describe("a thread that waits", () => {
  it("is resumed by an update as the node that asks, and is idle then", async () => {
    const id = await run("ask", { log: ["asked"] });
    expect(await client.threads.get(id)).toMatchObject({ status: "interrupted", values: { log: ["asked"] } });
    await client.threads.updateState(id, { values: { log: ["answered by hand"] }, asNode: "ask" });
    const waiting = await client.threads.get(id);
    expect(waiting).toMatchObject({ status: "interrupted", values: { log: ["asked", "answered by hand"] } });
    expect(Object.values(waiting.interrupts).flat()).toEqual([]);
    await client.threads.updateState(id, { values: { log: ["done by hand"] }, asNode: "last" });
    const done = await client.threads.get(id);
    expect(done).toMatchObject({ status: "idle", interrupts: {} });
    expect(done.values.log.at(-1)).toBe("done by hand");
    expect((await client.threads.getState(id)).next).toEqual([]);
  });

  it("keeps the values of its last checkpoint when its run is cancelled", async () => {
    const id = await run("notes", { topic: "kept", log: ["a"] });
    const gate = randomUUID();
    const { run_id } = await client.runs.create(id, "notes", { input: { topic: `wait ${gate}`, log: [] } });
    await gateReached(gate);
    await client.runs.cancel(id, run_id, true);
    const { status, values } = await client.threads.get(id);
    expect({ status, log: values.log }).toEqual({ status: "idle", log: ["a", "noted kept", "closed"] });
  });
});

describe("an update", () => {
  it("of several values is a step for each, or none at all", async () => {
    const id = await run("notes", { topic: "t" });
    const before = await client.threads.getHistory(id, { limit: 100 });
    await client.threads.updateState(id, {
      values: [{ log: ["1"] }, { log: ["2"] }] as never,
      asNode: "close",
    });
    const after = await client.threads.getHistory(id, { limit: 100 });
    expect(after).toHaveLength(before.length + 2);
    expect(after[0]?.values.log.slice(-2)).toEqual(["1", "2"]);
    const response = await post(`/threads/${id}/state`, {
      values: [{ log: ["3"] }, { log: ["fail"] }],
      as_node: "close",
    });
    expect([response.status, await response.text()]).toEqual([422, "The log does not take that."]);
    expect(await client.threads.getHistory(id, { limit: 100 })).toEqual(after);
  });

  it("at an earlier checkpoint makes a fork", async () => {
    const id = await run("notes", { topic: "t", log: ["a"] });
    const history = await client.threads.getHistory(id, { limit: 100 });
    const early = history.find((state) => state.next.includes("close"));
    const checkpointId = early?.checkpoint.checkpoint_id ?? "";
    await client.threads.updateState(id, { values: { log: ["forked"] }, checkpointId, asNode: "note" });
    const { values, parent_checkpoint } = await client.threads.getState(id);
    expect(values.log).toEqual(["a", "noted t", "forked"]);
    expect(parent_checkpoint?.checkpoint_id).toBe(checkpointId);
    const old = await client.threads.getState(id, history[0]?.checkpoint.checkpoint_id ?? "");
    expect(old.values.log).toEqual(["a", "noted t", "closed"]);
  });

  it("reaches a subgraph, which goes on with it", async () => {
    const id = await run("nested", { log: [] });
    const state = await client.threads.getState(id, undefined, { subgraphs: true });
    const inner = state.tasks[0]?.state?.tasks[0]?.state;
    expect(inner?.values).toMatchObject({ secret: "kept inside" });
    const checkpoint = { ...inner?.checkpoint, checkpoint_id: undefined } as never;
    await client.threads.updateState(id, {
      values: { secret: "changed" } as never,
      checkpoint,
      asNode: "think",
    });
    await client.runs.wait(id, "nested", { command: { resume: "yes" } });
    expect((await client.threads.getState(id)).values.log).toEqual([
      "before",
      "before",
      "thought",
      "changed: yes",
      "after",
    ]);
  });

  it("of what is not there is refused, and of other threads unknown", async () => {
    const id = await run("notes", { topic: "t" });
    const { thread_id: empty } = await client.threads.create();
    const cases: [string, object, number, string][] = [
      [id, { values: {}, checkpoint_id: randomUUID() }, 404, "Checkpoint"],
      [id, { values: {}, checkpoint: { checkpoint_ns: "nobody:1" } }, 404, "subgraph"],
      [id, { values: {}, checkpoint_id: "x" }, 422, "checkpoint_id"],
      [id, { values: "text", as_node: "note" }, 422, "Expected node"],
      [id, { values: {}, as_node: "__proto__" }, 422, 'There is no node "__proto__"'],
      [id, { values: {}, as_node: "constructor" }, 422, 'There is no node "constructor"'],
      [empty, { values: {} }, 400, "has no graph ID"],
      [randomUUID(), { values: {} }, 404, "not found"],
    ];
    for (const [thread, body, status, text] of cases) {
      const response = await post(`/threads/${thread}/state`, body);
      expect([response.status, await response.text()]).toEqual([status, expect.stringContaining(text)]);
    }
  });
});

describe("the state", () => {
  it("shows subgraphs when it is asked to, however that is said", async () => {
    const id = await run("nested", { log: [] });
    const get = async (query: string) => (await fetch(`${heddle.url}/threads/${id}/state${query}`)).json();
    const at = async (subgraphs: unknown) =>
      (await post(`/threads/${id}/state/checkpoint`, { checkpoint: null, subgraphs })).json();
    const deep = await get("?subgraphs=true");
    expect(deep).toMatchObject({ tasks: [{ state: { tasks: [{ state: { next: ["ask"] } }] } }] });
    for (const query of ["?subgraphs=1", "?subgraphs=yes"]) expect(await get(query)).toEqual(deep);
    expect(await at(true)).toEqual(deep);
    expect(await at("true")).toEqual(deep);
    const flat = await get("");
    expect(flat).toMatchObject({
      tasks: [
        { state: null, checkpoint: { thread_id: id, checkpoint_ns: expect.stringMatching(/^middle:/) } },
      ],
    });
    for (const query of ["?subgraphs=0", "?subgraphs=false"]) expect(await get(query)).toEqual(flat);
    expect(await at(false)).toEqual(flat);
  });

  it("has only the fields that are selected", async () => {
    const id = await run("notes", { topic: "t", log: [] });
    const select = ["next", "values.topic"] as const;
    const slim = { next: [], values: { topic: "t" } };
    expect(await client.threads.getState(id, undefined, { select: [...select] })).toEqual(slim);
    const [newest] = await client.threads.getHistory(id, { select: [...select], limit: 1 });
    expect(newest).toEqual(slim);
    const { checkpoint } = await client.threads.getState(id);
    for (const place of [checkpoint, checkpoint.checkpoint_id as string]) {
      expect(await client.threads.getState(id, place, { select: [...select] })).toEqual(slim);
    }
    const wrong = await fetch(`${heddle.url}/threads/${id}/state?select=everything`);
    expect([wrong.status, await wrong.text()]).toEqual([422, expect.stringContaining("select")]);
  });

  it("takes metadata, by which its history is searched, but none of LangGraph's own", async () => {
    const id = await run("notes", { topic: "t" });
    await client.threads.patchState(id, { reviewed: true, source: "me", thread_id: "x" });
    const state = await client.threads.getState(id);
    expect(state.metadata).toMatchObject({ reviewed: true, source: "loop", thread_id: id });
    const found = await client.threads.getHistory(id, { metadata: { reviewed: true } });
    expect(found).toEqual([state]);
    expect(await client.threads.getHistory(id, { metadata: { thread_id: id, reviewed: true } })).toEqual(
      found,
    );
    expect(await client.threads.getHistory(id, { metadata: { thread_id: randomUUID() } })).toEqual([]);
    const { thread_id: empty } = await client.threads.create();
    await expect(client.threads.patchState(empty, {})).rejects.toThrow("HTTP 404");
    await expect(client.threads.patchState(randomUUID(), {})).rejects.toThrow("HTTP 404: Thread with ID");
    expect((await post(`/threads/${id}/state`, { metadata: 1 }, "PATCH")).status).toBe(422);
  });
});

describe("the history", () => {
  it("of a subgraph is its own, in pages", async () => {
    const id = await run("nested", { log: [] });
    const state = await client.threads.getState(id, undefined, { subgraphs: true });
    const { checkpoint_ns } = state.tasks[0]?.state?.checkpoint ?? {};
    const history = await client.threads.getHistory(id, { checkpoint: { checkpoint_ns }, limit: 100 });
    expect(history.map((one) => one.next)).toEqual([["innermost"], ["before"], ["__start__"]]);
    expect(history.every((one) => one.checkpoint.checkpoint_ns === checkpoint_ns)).toBe(true);
    const before = history[0]?.checkpoint.checkpoint_id;
    const ways = [before, { checkpoint_id: before }, { configurable: { checkpoint_id: before } }];
    for (const way of ways) {
      const rest = await client.threads.getHistory(id, {
        checkpoint: { checkpoint_ns },
        before: way as never,
      });
      expect(rest).toEqual(history.slice(1));
    }
    const none = await post(`/threads/${id}/history`, { checkpoint: { checkpoint_ns: "nobody:1" } });
    expect(none.status).toBe(404);
    const all = await post(`/threads/${id}/history`, { checkpoint: null, before: null, metadata: null });
    expect(await all.json()).toEqual(await client.threads.getHistory(id));
  });
});

describe("a copy", () => {
  it("has the same states under the same ids, its forks and what it waits for, and a life of its own", async () => {
    const id = await run("nested", { log: [] });
    await client.threads.update(id, { metadata: { owner: "ada" } });
    const copy = await client.threads.copy(id);
    expect(copy.thread_id).not.toBe(id);
    expect(copy).toMatchObject({
      status: "interrupted",
      metadata: { owner: "ada", thread_id: copy.thread_id },
    });
    const replaced = (value: unknown) => JSON.parse(JSON.stringify(value).replaceAll(id, copy.thread_id));
    const states = async (thread: string) => [
      await client.threads.getState(thread, undefined, { subgraphs: true }),
      await client.threads.getHistory(thread, { limit: 100 }),
    ];
    expect(await states(copy.thread_id)).toEqual(replaced(await states(id)));
    await client.runs.wait(copy.thread_id, "nested", { command: { resume: "yes" } });
    expect((await client.threads.getState(copy.thread_id)).values.log.at(-1)).toBe("after");
    expect(await client.threads.get(id)).toMatchObject({ status: "interrupted" });
    await client.threads.delete(id);
    expect((await client.threads.getState(copy.thread_id)).values.log.at(-1)).toBe("after");
  });

  it("is made of one moment of a thread that runs, and does not run itself", async () => {
    const gate = randomUUID();
    const id = await run("notes", { topic: "first", log: [] });
    const { run_id } = await client.runs.create(id, "notes", { input: { topic: `wait ${gate}`, log: [] } });
    await gateReached(gate);
    const copy = await client.threads.copy(id);
    expect(copy.status).toBe("idle");
    expect(await client.runs.list(copy.thread_id)).toEqual([]);
    openGate(gate);
    await client.runs.join(id, run_id);
    const state = await client.threads.getState(copy.thread_id);
    expect(state).toMatchObject({ next: ["note"], values: { log: ["noted first", "closed"] } });
    await client.runs.wait(copy.thread_id, "notes", { input: { topic: "mine", log: [] } });
    expect((await client.threads.getState(copy.thread_id)).values.log.slice(-2)).toEqual([
      "noted mine",
      "closed",
    ]);
  });

  it("of a factory's thread is read with the graph that it was run with", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "shop", {
      input: {} as never,
      config: { configurable: { shelf: "books" } },
    });
    const copy = await client.threads.copy(thread_id);
    expect((await client.threads.getState(copy.thread_id)).values).toEqual({ books: "full" });
  });

  it("of a thread that there is not is the official server's 409", async () => {
    await expect(client.threads.copy(randomUUID())).rejects.toThrow("HTTP 409: Thread not found");
    expect((await post("/threads/x/copy", {})).status).toBe(422);
  });
});
