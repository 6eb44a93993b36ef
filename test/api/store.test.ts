// The store over HTTP and inside graphs: who sees what, what is refused, what outlives what.
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FencedError } from "../../src/db/checkpointer.ts";
import { createImporter } from "../../src/graphs/importer.ts";
import { createStore, sweepStore } from "../../src/store/store.ts";
import { startApp, type TestApp } from "../helpers/app.ts";

const fixture = (file: string) => path.resolve(import.meta.dirname, "../fixtures/store", file);

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs: fixture("langgraph.json") });
});
afterAll(() => heddle.close());

async function send(method: string, route: string, body?: unknown, { app = heddle, token = "" } = {}) {
  const response = await fetch(app.url + route, {
    method,
    headers: {
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(token ? { authorization: `Bearer ${token}` } : {}),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

describe("a request to the store", () => {
  it.each([
    ["PUT", "/store/items", { namespace: [], key: "k", value: {} }, 400, "Namespace is required"],
    [
      "PUT",
      "/store/items",
      { namespace: ["a.b"], key: "k", value: {} },
      422,
      "Namespace labels cannot be empty or contain periods. Received: a.b",
    ],
    [
      "PUT",
      "/store/items",
      { namespace: ["a", ""], key: "k", value: {} },
      422,
      "Namespace labels cannot be empty or contain periods. Received: a.",
    ],
    ["PUT", "/store/items", { namespace: ["a"], key: "k", value: [] }, 422, /body\.value/],
    ["PUT", "/store/items", { namespace: ["a"], value: {} }, 422, /body\.key/],
    ["PUT", "/store/items", { namespace: "a", key: "k", value: {} }, 422, /body\.namespace/],
    ["PUT", "/store/items", { namespace: ["a"], key: "k", value: {}, ttl: -1 }, 422, /body\.ttl/],
    ["PUT", "/store/items", { namespace: ["a"], key: "k", value: {}, index: "a" }, 422, /body\.index/],
    ["PUT", "/store/items", { namespace: ["a"], key: "k".repeat(3_000), value: {} }, 422, /longer than/],
    ["PUT", "/store/items", undefined, 422, /body/],
    ["GET", "/store/items?namespace=a", undefined, 422, /querystring\.key/],
    ["GET", "/store/items?namespace=a..b&key=k", undefined, 422, /labels cannot be empty/],
    ["GET", "/store/items?namespace=a&key=%00", undefined, 422, /NUL/],
    ["GET", "/store/items?namespace=a&key=k&refresh_ttl=maybe", undefined, 422, /refresh_ttl/],
    ["DELETE", "/store/items", { namespace: ["a.b"], key: "k" }, 422, /periods/],
    ["DELETE", "/store/items", {}, 422, /body\.key/],
    ["POST", "/store/items/search", {}, 422, /namespace_prefix/],
    ["POST", "/store/items/search", { namespace_prefix: ["a.b"] }, 422, /periods/],
    ["POST", "/store/items/search", { namespace_prefix: [], limit: 0 }, 422, /body\.limit/],
    ["POST", "/store/items/search", { namespace_prefix: [], offset: -1 }, 422, /body\.offset/],
    ["POST", "/store/items/search", { namespace_prefix: [], filter: [] }, 422, /body\.filter/],
    ["POST", "/store/items/search", { namespace_prefix: [], filter: { a: { $or: [] } } }, 422, /\$or/],
    ["POST", "/store/namespaces", { prefix: ["a.b"] }, 422, /periods/],
    ["POST", "/store/namespaces", { max_depth: 0 }, 422, /max_depth/],
  ])("%s %s with %j is refused with %i", async (method, route, body, status, text) => {
    const answer = await send(method, route, body);
    expect(answer.status).toBe(status);
    if (typeof text === "string") expect(answer.text).toBe(text);
    else expect(answer.text).toMatch(text);
  });

  it("of a type that is not JSON is refused with 415", async () => {
    const headers = { "content-type": "text/xml" };
    const answer = await fetch(`${heddle.url}/store/items`, { method: "PUT", headers, body: "<a/>" });
    expect(answer.status).toBe(415);
  });

  it("for an item that is not there is answered with null, and its deletion with 204", async () => {
    expect(await send("GET", "/store/items?namespace=none&key=k")).toEqual({ status: 200, text: "null" });
    expect(await send("GET", "/store/items?key=k")).toEqual({ status: 200, text: "null" });
    expect(await send("DELETE", "/store/items", { namespace: ["none"], key: "k" })).toMatchObject({
      status: 204,
    });
    expect(await send("DELETE", "/store/items", { key: "k" })).toMatchObject({ status: 204 });
  });
});

describe("a graph", () => {
  const run = async (
    calls: unknown[][],
    { graph = "remember", client = heddle.client, config = {} } = {},
  ) => {
    const values = await client.runs.wait(null, graph, { input: { calls }, config });
    return (values as { results: unknown[] }).results;
  };

  it.each(["remember", "made"])("has the server's store (%s)", async (graph) => {
    const namespace = ["graph", graph];
    const results = await run(
      [
        ["put", namespace, "k", { n: 1 }],
        ["get", namespace, "k"],
        ["search", ["graph"], { filter: { n: { $gte: 1 } } }],
        ["delete", namespace, "none"],
      ],
      { graph },
    );
    const item = { namespace, key: "k", value: { n: 1 } };
    expect(results).toMatchObject([
      null,
      item,
      expect.arrayContaining([expect.objectContaining(item)]),
      null,
    ]);
    expect(await heddle.client.store.getItem(namespace, "k")).toMatchObject(item);
    await heddle.client.store.putItem(namespace, "k", { n: 2 });
    expect(await run([["get", namespace, "k"]])).toMatchObject([{ value: { n: 2 } }]);
  });

  it("has it also while its state is changed from outside", async () => {
    await heddle.client.store.putItem(["notes"], "way", {});
    const { thread_id } = await heddle.client.threads.create({ graphId: "remember" });
    await heddle.client.threads.updateState(thread_id, { values: { results: [] }, asNode: "remember" });
    expect(await heddle.client.store.getItem(["notes"], "been")).toMatchObject({ value: { here: true } });
  });

  it("ends its run as an error when it puts what no store takes", async () => {
    const { thread_id } = await heddle.client.threads.create();
    await expect(
      heddle.client.runs.wait(thread_id, "remember", { input: { calls: [["put", ["a"], "k", "text"]] } }),
    ).rejects.toThrow("The value of an item must be an object.");
    expect(await heddle.client.threads.get(thread_id)).toMatchObject({ status: "error" });
  });

  it("whose run another worker has taken over writes nothing to the store", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const { db } = heddle.database;
    await db.query("update heddle.threads set fencing_token = 7 where thread_id = $1::uuid", [thread_id]);
    const log = heddle.app.log;
    const store = await createStore({
      db,
      settings: {},
      file: "",
      importer: createImporter("/"),
      openai: {},
      log,
    });
    const holder = (token: string) => store.open({ owner: "", fence: { threadId: thread_id, token } });
    const namespace = ["fenced"];
    await holder("7").put(namespace, "k", { by: "holder" });
    await expect(holder("6").put(namespace, "k", { by: "zombie" })).rejects.toThrow(FencedError);
    await expect(holder("6").delete(namespace, "k")).rejects.toThrow(FencedError);
    await expect(
      holder("6").batch([
        { namespace, key: "k" },
        { namespace, key: "l", value: {} },
        { namespace, key: "k", value: null },
      ]),
    ).rejects.toThrow(FencedError);
    expect(await holder("6").search(namespace)).toMatchObject([{ key: "k", value: { by: "holder" } }]);
  });
});

describe("with API_KEYS", () => {
  let keyed: TestApp;
  const clientOf = (apiKey: string) =>
    new Client({ apiUrl: keyed.url, apiKey, callerOptions: { maxRetries: 0 } });
  beforeAll(async () => {
    keyed = await startApp({
      graphs: fixture("langgraph.json"),
      env: { API_KEYS: "ann:key-of-ann-0123456789,bob:key-of-bob-0123456789" },
    });
  });
  afterAll(() => keyed.close());

  it("each name has a store of its own, over HTTP and in graphs", async () => {
    const [ann, bob] = [clientOf("key-of-ann-0123456789"), clientOf("key-of-bob-0123456789")];
    await ann.store.putItem(["a"], "k", { of: "ann" });
    expect(await bob.store.getItem(["a"], "k")).toBeNull();
    expect((await bob.store.searchItems([])).items).toEqual([]);
    expect(await bob.store.listNamespaces()).toEqual({ namespaces: [] });
    await bob.store.deleteItem(["a"], "k");
    const calls = [
      ["get", ["a"], "k"],
      ["put", ["in-graph"], "k", {}],
    ];
    const forged = {
      configurable: { langgraph_auth_user_id: "ann", langgraph_auth_user: { identity: "ann" } },
    };
    for (const config of [{}, forged]) {
      const seen = await bob.runs.wait(null, "remember", { input: { calls }, config });
      expect(seen).toMatchObject({ results: [null, null] });
    }
    expect(await ann.runs.wait(null, "remember", { input: { calls } })).toMatchObject({
      results: [{ value: { of: "ann" } }, null],
    });
    expect((await bob.store.listNamespaces()).namespaces).toContainEqual(["in-graph"]);
  });
});

describe("with rules of the project", () => {
  let ruled: TestApp;
  beforeAll(async () => {
    ruled = await startApp({ graphs: fixture("auth.langgraph.json") });
  });
  afterAll(() => ruled.close());
  const ask = (token: string, method: string, route: string, body?: unknown) =>
    send(method, route, body, { app: ruled, token });
  const found = async (token: string, prefix: string[]) => {
    const { text } = await ask(token, "POST", "/store/items/search", {
      namespace_prefix: prefix,
      limit: 100,
    });
    return (JSON.parse(text) as { items: { key: string }[] }).items.map(({ key }) => key);
  };

  it("nobody without credentials does anything", async () => {
    const item = { namespace: ["a"], key: "k", value: {} };
    expect(await send("PUT", "/store/items", item, { app: ruled })).toMatchObject({ status: 401 });
    expect(await send("GET", "/store/items?namespace=a&key=k", undefined, { app: ruled })).toMatchObject({
      status: 401,
    });
  });

  it("what a rule changes is what is done, and its filter decides", async () => {
    const put = (token: string, key: string, value: object = {}) =>
      ask(token, "PUT", "/store/items", { namespace: ["team", token], key, value });
    const at = (owner: string, key: string) => `/store/items?namespace=team.${owner}&key=${key}`;
    expect(await put("ann", "renamed")).toMatchObject({ status: 204 });
    expect(await ask("ann", "GET", at("ann", "renamed"))).toEqual({ status: 200, text: "null" });
    expect(await ask("ann", "GET", at("ann", "by-rule"))).toMatchObject({
      status: 200,
      text: expect.stringContaining('"owner":"ann"'),
    });
    // Another's item is not to be read, overwritten or deleted; and nobody writes in another's name.
    expect(await ask("bob", "GET", at("ann", "by-rule"))).toEqual({ status: 404, text: "Item not found" });
    const overwrite = { namespace: ["team", "ann"], key: "by-rule", value: { owner: "bob" } };
    expect(await ask("bob", "PUT", "/store/items", overwrite)).toMatchObject({ status: 404 });
    const remove = { namespace: ["team", "ann"], key: "by-rule" };
    expect(await ask("bob", "DELETE", "/store/items", remove)).toMatchObject({ status: 404 });
    expect(await put("bob", "k", { owner: "ann" })).toEqual({ status: 403, text: "Not authorized" });
    expect(await put("reader", "k")).toMatchObject({ status: 403 });
    expect(await ask("ann", "GET", at("ann", "by-rule"))).toMatchObject({ status: 200 });
    // To delete what is not there needs the right to have it.
    expect(await ask("bob", "DELETE", "/store/items", { namespace: ["x"], key: "k" })).toMatchObject({
      status: 403,
    });
    expect(await ask("bob", "DELETE", "/store/items", { namespace: ["x"], key: "any" })).toMatchObject({
      status: 204,
    });
    expect(await ask("ann", "DELETE", "/store/items", remove)).toMatchObject({ status: 204 });
  });

  it("a search and a list of namespaces give what the filter shows, by the page", async () => {
    for (const key of ["1", "2", "3"]) {
      for (const owner of ["cat", "dan"]) {
        await ask(owner, "PUT", "/store/items", { namespace: ["pages", owner], key, value: {} });
      }
    }
    expect(await found("admin", ["pages"])).toHaveLength(6);
    // The rule has set the limit to 2.
    expect(await found("dan", ["pages"])).toEqual(["1", "2"]);
    expect(await found("dan", ["pages", "cat"])).toEqual([]);
    const list = async (token: string) =>
      JSON.parse((await ask(token, "POST", "/store/namespaces", { prefix: ["pages"] })).text);
    expect(await list("admin")).toEqual({
      namespaces: [
        ["pages", "cat"],
        ["pages", "dan"],
      ],
    });
    expect(await list("dan")).toEqual({ namespaces: [["pages", "dan"]] });
  });
});

describe("an item's time", () => {
  let limited: TestApp;
  beforeAll(async () => {
    limited = await startApp({ graphs: fixture("ttl.langgraph.json") });
  });
  afterAll(() => limited.close());
  const { put, minutesLeft, pass } = {
    put: (key: string, options = {}) => limited.client.store.putItem(["t"], key, { key }, options),
    /** Rounded; null: for ever; undefined: no such row. */
    async minutesLeft(key: string) {
      const rows = await limited.database.db.query<{ left: number | null }>(
        `select round(extract(epoch from expires_at - now()) / 60)::integer as left
         from heddle.store_items where key = $1::text`,
        [key],
      );
      return rows[0]?.left;
    },
    pass: (minutes: number) =>
      limited.database.db.query(
        "update heddle.store_items set expires_at = expires_at - $1::double precision * interval '1 minute'",
        [minutes],
      ),
  };

  it("is the server's, its own, or without end; a put begins it anew", async () => {
    await put("default");
    await put("own", { ttl: 30 });
    await put("never", { ttl: null });
    await put("huge", { ttl: 1e300 });
    expect(await minutesLeft("default")).toBe(10);
    expect(await minutesLeft("own")).toBe(30);
    expect(await minutesLeft("never")).toBeNull();
    expect(await minutesLeft("huge")).toBeGreaterThan(1e6);
    await pass(5);
    await put("default");
    expect(await minutesLeft("default")).toBe(10);
    expect(await minutesLeft("own")).toBe(25);
    await limited.client.runs.wait(null, "remember", { input: { calls: [["put", ["t"], "of-graph", {}]] } });
    expect(await minutesLeft("of-graph")).toBe(10);
  });

  it("begins anew with a read that says so", async () => {
    const { store } = limited.client;
    await put("read");
    await put("searched");
    await pass(5);
    await store.getItem(["t"], "read");
    await store.searchItems(["t"]);
    expect(await minutesLeft("read")).toBe(5);
    await store.getItem(["t"], "read", { refreshTtl: true });
    expect([await minutesLeft("read"), await minutesLeft("searched")]).toEqual([10, 5]);
    await store.searchItems(["t"], { filter: { key: "searched" }, refreshTtl: true });
    expect(await minutesLeft("searched")).toBe(10);
  });

  it("once over, the item is not found in any way, is made anew by a put, and is swept", async () => {
    const { store } = limited.client;
    await put("over");
    const before = await store.getItem(["t"], "over");
    await put("kept", { ttl: null });
    await pass(100_000_000);
    expect(await store.getItem(["t"], "over", { refreshTtl: true })).toBeNull();
    expect((await store.searchItems(["t"], { refreshTtl: true })).items.map(({ key }) => key)).not.toContain(
      "over",
    );
    await store.putItem(["gone"], "k", {});
    await pass(11);
    expect((await store.listNamespaces()).namespaces).toEqual([["t"]]);
    await put("over");
    expect(new Date((await store.getItem(["t"], "over"))?.createdAt ?? 0).getTime()).toBeGreaterThan(
      new Date(before?.createdAt ?? 0).getTime(),
    );
    await put("over-again");
    await pass(11);
    await sweepStore(limited.database.db);
    expect(await minutesLeft("over-again")).toBeUndefined();
    expect(await minutesLeft("kept")).toBeNull();
  });
});

it("is one for several servers, and is there after a restart", async () => {
  const first = await startApp({ graphs: fixture("langgraph.json") });
  const second = await startApp({ graphs: fixture("langgraph.json"), beside: first });
  await first.client.store.putItem(["a", "b"], "k", { n: 1 });
  await second.client.store.putItem(["a", "c"], "k", { n: 2 });
  expect((await first.client.store.searchItems(["a"])).items).toMatchObject([
    { value: { n: 1 } },
    { value: { n: 2 } },
  ]);
  await first.client.store.deleteItem(["a", "b"], "k");
  expect(await second.client.store.getItem(["a", "b"], "k")).toBeNull();
  await second.close();
  const third = await startApp({ graphs: fixture("langgraph.json"), beside: first });
  expect(await third.client.store.getItem(["a", "c"], "k")).toMatchObject({ value: { n: 2 } });
  await third.close();
  await first.close();
});
