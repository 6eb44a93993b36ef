// Threads that are made with a state, looked for by what they hold, and listed in parts; with both SDKs.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/threads/langgraph.json");

let heddle: TestApp;
let next: NextClient;
beforeAll(async () => {
  heddle = await startApp({ graphs });
  next = new NextClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
});
afterAll(() => heddle.close());

const post = (route: string, body: unknown) =>
  fetch(heddle.url + route, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

/** A thread of this group whose state is `values`. */
async function threadWith(group: string, values: object, graphId = "notes"): Promise<string> {
  const { thread_id } = await next.threads.create({
    graphId,
    metadata: { group },
    supersteps: [{ updates: [{ values, asNode: "close" }] }],
  });
  return thread_id;
}

const ids = (threads: readonly { thread_id: string }[]) => threads.map((thread) => thread.thread_id);

describe("a thread with supersteps", () => {
  it("has the history that they make, and goes on from there", async () => {
    const { thread_id, metadata, status } = await heddle.client.threads.create({
      graphId: "notes",
      supersteps: [
        { updates: [{ values: { topic: "a", log: ["given"] }, asNode: "__input__" }] },
        { updates: [{ values: { topic: "a", log: ["given"] }, asNode: "__start__" }] },
        { updates: [{ values: { log: ["noted by hand"] }, asNode: "note" }] },
      ],
    });
    expect({ metadata, status }).toEqual({ metadata: { graph_id: "notes" }, status: "idle" });
    const history = await heddle.client.threads.getHistory(thread_id);
    expect(history.map((state) => state.metadata?.source)).toEqual(["update", "update", "input"]);
    expect(history[0]?.next).toEqual(["close"]);
    await heddle.client.runs.wait(thread_id, "notes", { input: null });
    expect((await heddle.client.threads.getState(thread_id)).values).toMatchObject({
      topic: "a",
      log: ["given", "noted by hand", "closed"],
    });
  });

  it("takes commands and updates of several nodes in a step", async () => {
    const { thread_id } = await next.threads.create({
      graphId: "notes",
      supersteps: [
        { updates: [{ values: { topic: "a" }, asNode: "__input__" }] },
        {
          updates: [
            { values: { log: ["one"] }, asNode: "note" },
            { values: null, command: { update: { log: ["two"] }, goto: "note" }, asNode: "close" },
          ],
        },
      ],
    });
    const { values, next: nodes } = await next.threads.getState<{ log: string[] }>(thread_id);
    expect(values.log.toSorted()).toEqual(["one", "two"]);
    expect(nodes).toContain("close");
  });

  it("is not there when one of them fails", async () => {
    const threadId = randomUUID();
    const good = { updates: [{ values: { log: ["x"] }, as_node: "note" }] };
    const bodies: [unknown, number][] = [
      [{ supersteps: [good, { updates: [{ values: { log: ["fail"] }, as_node: "note" }] }] }, 422],
      [{ supersteps: [good, { updates: [{ values: {}, as_node: "nobody" }] }] }, 422],
      [{ supersteps: [good, { updates: [] }] }, 422],
      [{ supersteps: [{ updates: [{ values: {} }] }] }, 422],
      [{ supersteps: [{ updates: [{ values: { lg_name: "Command" }, as_node: "note" }] }] }, 422],
      [{ supersteps: [good], metadata: {} }, 400],
      [{ supersteps: [good], metadata: { graph_id: "nothing" } }, 404],
    ];
    for (const [body, status] of bodies) {
      const response = await post("/threads", {
        thread_id: threadId,
        metadata: { graph_id: "notes" },
        ...(body as object),
      });
      expect([await response.text(), response.status]).toEqual([expect.any(String), status]);
    }
    await expect(heddle.client.threads.get(threadId)).rejects.toThrow("HTTP 404");
    const rows = await heddle.database.db.query("select 1 from heddle.checkpoints where thread_id = $1", [
      threadId,
    ]);
    expect(rows).toEqual([]);
  });

  it("that is there already is not changed", async () => {
    const threadId = await threadWith("none", { topic: "old" });
    await next.threads.create({
      threadId,
      ifExists: "do_nothing",
      graphId: "notes",
      supersteps: [{ updates: [{ values: { topic: "new" }, asNode: "note" }] }],
    });
    expect((await next.threads.get<{ topic: string }>(threadId)).values.topic).toBe("old");
  });
});

describe("a search by values", () => {
  it("finds what contains them, at any depth, and nothing else", async () => {
    const group = randomUUID();
    const a = await threadWith(group, { topic: "a", detail: { list: [1, { deep: true, more: 1 }] } });
    const b = await threadWith(group, { topic: "b", log: ["x", "y"] });
    const message = { type: "human", content: "hello there", id: "m1" };
    const c = await threadWith(group, { topic: "a", messages: [message] });
    // It has never run, so that it has no values.
    await next.threads.create({ graphId: "notes", metadata: { group } });
    const found = async (values: object) =>
      ids(await next.threads.search({ metadata: { group }, values: values as never, sortOrder: "asc" }));
    expect(await found({ topic: "a" })).toEqual([a, c]);
    expect(await found({ topic: "a", detail: { list: [{ deep: true }] } })).toEqual([a]);
    expect(await found({ log: ["y"] })).toEqual([b]);
    expect(await found({ messages: [{ type: "human", content: "hello there" }] })).toEqual([c]);
    expect(await found({ count: 0 })).toEqual([a, b, c]);
    expect(await found({ topic: "c" })).toEqual([]);
    expect(await found({ nothing: null })).toEqual([]);
    for (const values of [{ topic: "a" }, { log: ["y"] }, { topic: "c" }]) {
      expect(await next.threads.count({ metadata: { group }, values } as never)).toBe(
        (await found(values)).length,
      );
    }
    expect(await heddle.client.threads.count({ metadata: { group } })).toBe(4);
    expect(await heddle.client.threads.count({ metadata: { group }, status: "busy" })).toBe(0);
  });

  it("has right pages and totals", async () => {
    const group = randomUUID();
    const made: string[] = [];
    for (let i = 0; i < 5; i++) made.push(await threadWith(group, { topic: i % 2 === 0 ? "even" : "odd" }));
    const page = async (body: object) => {
      const response = await post("/threads/search", { metadata: { group }, sort_order: "asc", ...body });
      const threads = (await response.json()) as { thread_id: string }[];
      const { headers } = response;
      return [ids(threads), headers.get("x-pagination-total"), headers.get("x-pagination-next")];
    };
    const even = [made[0], made[2], made[4]];
    const values = { topic: "even" };
    expect(await page({ values })).toEqual([even, "3", null]);
    expect(await page({ values, limit: 2 })).toEqual([even.slice(0, 2), "3", "2"]);
    expect(await page({ values, limit: 2, offset: 2 })).toEqual([even.slice(2), "3", null]);
    expect(await page({ values, limit: 1, offset: 9 })).toEqual([[], "3", null]);
    expect(await page({ limit: 5 })).toEqual([made, "5", null]);
    expect(await page({ limit: 4 })).toEqual([made.slice(0, 4), "5", "4"]);
    expect(await page({ offset: 7 })).toEqual([[], "5", null]);
  });

  it("sees what a thread shows: also of tasks that have ended beside one that waits", async () => {
    const { thread_id } = await next.threads.create();
    await next.runs.wait(thread_id, "ask", { input: { log: ["asked"] } });
    const [found] = await next.threads.search({ ids: [thread_id], values: { beside: "done" } });
    expect(found).toMatchObject({ status: "interrupted", values: { beside: "done", log: ["asked"] } });
    expect(await next.threads.search({ ids: [thread_id], values: { beside: "not" } })).toEqual([]);
  });

  it("reads the channels of delta graphs and factories as they are", async () => {
    const { thread_id: delta } = await next.threads.create();
    for (const topic of ["a", "b"]) await next.runs.wait(delta, "delta", { input: { topic } });
    const { thread_id: shop } = await next.threads.create();
    await next.runs.wait(shop, "shop", { input: {}, config: { configurable: { shelf: "books" } } });
    const search = async (values: object) =>
      ids(await next.threads.search({ ids: [delta, shop], values: values as never }));
    expect(await search({ log: ["0 a", "1 b"] })).toEqual([delta]);
    expect(await search({ books: "full" })).toEqual([shop]);
    expect(await search({ tools: "full" })).toEqual([]);
  });
});

describe("a list of threads", () => {
  it("is read in a few statements, however many threads are on the page", async () => {
    const group = randomUUID();
    const statements = async (limit: number) => {
      const before = heddle.app.statements();
      expect(await next.threads.search({ metadata: { group }, limit })).toHaveLength(limit);
      return heddle.app.statements() - before;
    };
    for (let i = 0; i < 12; i++) await threadWith(group, { topic: String(i) });
    // Three of its own; the worker's looks at the queue come between.
    expect(await statements(12)).toBeLessThan(10);
  });

  it("is read as it is sent, so that no page is too large", async () => {
    const group = randomUUID();
    const first = await threadWith(group, { topic: "x".repeat(1_000_000) });
    const made = [first];
    while (made.length < 40) {
      const { thread_id } = await next.threads.copy(first);
      made.push(thread_id);
    }
    const last = made.at(-1) ?? "";
    const response = await post("/threads/search", { ids: made, limit: 100, sort_order: "asc" });
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
    let text = (await reader?.read())?.value ?? "";
    await next.threads.updateState(last, { values: { topic: "late" }, asNode: "note" });
    for (let part = await reader?.read(); part?.value !== undefined; part = await reader?.read())
      text += part.value;
    const page = JSON.parse(text) as { thread_id: string; values: { topic: string } }[];
    expect(ids(page)).toEqual(made);
    expect(page.map(({ values }) => values.topic.length)).toEqual([...Array(39).fill(1_000_000), 4]);
  });

  it("is refused, or broken off, when a state cannot be read", async () => {
    const group = randomUUID();
    const made: string[] = [];
    for (let i = 0; i < 12; i++) made.push(await threadWith(group, { topic: "t".repeat(100_000) }));
    const page = () => post("/threads/search", { ids: made, limit: 12, sort_order: "asc" });
    expect(await (await page()).json()).toHaveLength(12);
    const spoil = (threadId: unknown, type: string) =>
      heddle.database.db.query(
        "update heddle.checkpoint_blobs set type = $2 where thread_id = $1 and channel = 'topic'",
        [threadId, type],
      );
    await spoil(made.at(-1), "unknown");
    await expect(page().then((response) => response.text())).rejects.toThrow();
    await spoil(made[0], "unknown");
    const refused = await page();
    expect([refused.status, refused.headers.get("content-type")]).toEqual([500, "text/plain; charset=utf-8"]);
    // Neither of these reads the topic.
    const extracted = { ids: made, limit: 12, select: [], extract: { first: "values.log[0]" } };
    expect(await (await post("/threads/search", extracted)).json()).toHaveLength(12);
    expect(
      await (await post("/threads/search", { ids: made, limit: 12, select: ["status"] })).json(),
    ).toHaveLength(12);
  });

  it("is sorted by when the state has changed, and says so", async () => {
    const group = randomUUID();
    const first = await threadWith(group, { topic: "1" });
    const second = await threadWith(group, { topic: "2" });
    const sorted = async () =>
      ids(await next.threads.search({ metadata: { group }, sortBy: "state_updated_at" }));
    expect(await sorted()).toEqual([second, first]);
    await next.threads.update(first, { metadata: { seen: true } });
    expect(await sorted()).toEqual([second, first]);
    await next.threads.updateState(first, { values: { topic: "3" }, asNode: "note" });
    expect(await sorted()).toEqual([first, second]);
    await next.runs.wait(second, "notes", { input: { topic: "4" } });
    expect(await sorted()).toEqual([second, first]);
    const thread = await next.threads.get(second);
    expect(Date.parse(thread.state_updated_at)).toBeGreaterThanOrEqual(Date.parse(thread.created_at));
    await next.runs.create(second, "notes", { input: { topic: `wait ${group}` } });
    await gateReached(group);
    expect((await next.threads.get(second)).state_updated_at).toBe(thread.state_updated_at);
    openGate(group);
  });

  it("has what is extracted, and a search by values finds it, also where the state is one channel", async () => {
    const run = async (graphId: string, input: unknown) => {
      const { thread_id } = await next.threads.create();
      await next.runs.wait(thread_id, graphId, { input: input as never });
      return thread_id;
    };
    const search = (thread_id: string, body: object) => next.threads.search({ ids: [thread_id], ...body });
    const entry = await run("entry", { topic: "rain" });
    const values = { topic: "rain", length: 4 };
    expect(await search(entry, {})).toMatchObject([{ values }]);
    expect(await search(entry, { values: { length: 4 } })).toMatchObject([{ values }]);
    expect(await search(entry, { select: [], extract: { a: "values.topic" } })).toEqual([
      { extracted: { a: "rain" } },
    ]);
    const root = await run("root", [{ role: "user", content: "keep" }]);
    const extract = { first: "values[0].content", no: "values.length" };
    expect(await search(root, { select: ["thread_id"], extract })).toEqual([
      { thread_id: root, extracted: { first: "keep", no: null } },
    ]);
  });

  it("has what is extracted beside what is selected", async () => {
    const group = randomUUID();
    const id = await threadWith(group, {
      topic: "t",
      log: ["a", "b"],
      messages: [{ type: "human", content: "hello" }],
    });
    const [thread] = await next.threads.search({
      metadata: { group },
      select: ["thread_id"],
      extract: {
        last: "values.log[-1]",
        said: "values.messages[0].content",
        group: "metadata.group",
        no: "values.x.y",
      },
    });
    expect(thread).toEqual({ thread_id: id, extracted: { last: "b", said: "hello", group, no: null } });
    const response = await post("/threads/search", { extract: { wrong: "values..x" } });
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining("extract.wrong")]);
  });
});

describe("bad input", () => {
  it.each([
    ["/threads", { ttl: 0 }, "ttl"],
    ["/threads", { ttl: { ttl: 5, strategy: "burn" } }, "ttl"],
    ["/threads", { supersteps: "all" }, "supersteps"],
    ["/threads/search", { values: [1] }, "values"],
    ["/threads/search", { sort_by: "metadata" }, "sort_by"],
    ["/threads/count", { status: "asleep" }, "status"],
    ["/threads/prune", {}, "thread_ids"],
    ["/threads/prune", { thread_ids: ["x"] }, "thread_ids"],
    ["/threads/prune", { thread_ids: [], strategy: "half" }, "strategy"],
  ])("%s %j names the field", async (route, body, field) => {
    const response = await post(route, body);
    expect([response.status, await response.text()]).toEqual([422, expect.stringContaining(field)]);
  });
});
