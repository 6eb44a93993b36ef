// Nobody sees, changes or removes another one's thread: to him it is as if there was none.
import { randomUUID } from "node:crypto";
import path from "node:path";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";

const KEYS = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };

let heddle: TestApp;
let ann: NextClient;
let bob: NextClient;
let id: string;
let checkpoint: string;
beforeAll(async () => {
  heddle = await startApp({
    graphs: path.resolve(import.meta.dirname, "../fixtures/threads/langgraph.json"),
    env: {
      API_KEYS: Object.entries(KEYS)
        .map((pair) => pair.join(":"))
        .join(","),
    },
  });
  const connect = (apiKey: string) =>
    new NextClient({ apiUrl: heddle.url, apiKey, callerOptions: { maxRetries: 0 } });
  [ann, bob] = [connect(KEYS.ann), connect(KEYS.bob)];
  ({ thread_id: id } = await ann.threads.create());
  await ann.runs.wait(id, "notes", { input: { topic: "secret", log: [] } });
  checkpoint = (await ann.threads.getState(id)).checkpoint.checkpoint_id ?? "";
});
afterAll(() => heddle.close());

const asBob = async (method: string, route: string, body?: unknown) => {
  const response = await fetch(heddle.url + route, {
    method,
    headers: { "x-api-key": KEYS.bob, ...(body === undefined ? {} : { "content-type": "application/json" }) },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return [response.status, await response.text()];
};

it("each route answers for it what it answers for one that there is not", async () => {
  const routes: [string, string, unknown?][] = [
    ["GET", ""],
    ["PATCH", "", { metadata: { mine: true } }],
    ["DELETE", ""],
    ["POST", "/copy"],
    ["GET", "/state"],
    ["POST", "/state", { values: { topic: "mine" }, as_node: "note" }],
    ["PATCH", "/state", { metadata: { mine: true } }],
    ["GET", `/state/${checkpoint}`],
    ["POST", "/state/checkpoint", { checkpoint: { checkpoint_id: checkpoint } }],
    ["GET", "/history"],
    ["POST", "/history", {}],
  ];
  const before = [await ann.threads.get(id), await ann.threads.getHistory(id)];
  for (const [method, route, body] of routes) {
    const missing = randomUUID();
    const answer = await asBob(method, `/threads/${id}${route}`, body);
    const [status, text] = await asBob(method, `/threads/${missing}${route}`, body);
    expect(answer, `${method} ${route}`).toEqual([status, String(text).replaceAll(missing, id)]);
    expect(status).toBe(route === "/copy" ? 409 : 404);
  }
  expect([await ann.threads.get(id), await ann.threads.getHistory(id)]).toEqual(before);
});

it("it is not found, counted, pruned, or made again", async () => {
  for (const filter of [{}, { ids: [id] }, { values: { topic: "secret" } }]) {
    expect(await bob.threads.search(filter)).toEqual([]);
    expect(await ann.threads.search(filter)).toHaveLength(1);
  }
  expect(await bob.threads.count({ values: { topic: "secret" } } as never)).toBe(0);
  for (const strategy of ["keep_latest", "delete"] as const) {
    expect(await bob.threads.prune([id], { strategy })).toEqual({ pruned_count: 0 });
  }
  for (const ifExists of ["raise", "do_nothing"] as const) {
    await expect(bob.threads.create({ threadId: id, ifExists })).rejects.toThrow(
      "HTTP 409: Thread already exists",
    );
  }
});

it("a copy belongs to whoever makes it, and so does a thread with supersteps", async () => {
  const copy = await ann.threads.copy(id);
  expect(copy.metadata).toMatchObject({ owner: "ann", thread_id: copy.thread_id });
  await expect(bob.threads.get(copy.thread_id)).rejects.toThrow("HTTP 404");
  const { thread_id } = await bob.threads.create({
    graphId: "notes",
    supersteps: [{ updates: [{ values: { topic: "mine" }, asNode: "note" }] }],
  });
  expect((await bob.threads.get(thread_id)).metadata).toEqual({ graph_id: "notes", owner: "bob" });
  await expect(ann.threads.getState(thread_id)).rejects.toThrow("HTTP 404");
});
