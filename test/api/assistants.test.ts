// Assistants over HTTP: made, found, changed in versions, deleted; what a caller with a scope sees of them.
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { signToken } from "../fixtures/auth/tokens.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { openGate } from "../helpers/gates.ts";
import { human } from "../helpers/sdk.ts";

const NO_ID = "9b2c0f56-1d1e-4a4e-9d5d-3b1d8b1c6a11";
const fixture = (name: string) => path.resolve(import.meta.dirname, "../fixtures", name, "langgraph.json");
let heddle: TestApp;
let client: Client;
let next: NextClient;

beforeAll(async () => {
  heddle = await startApp({ env: { ALLOW_TRUNCATE: "true" } });
  client = heddle.client;
  next = new NextClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
});
afterAll(() => heddle.close());
afterEach(() => send("POST", "/internal/truncate", { assistants: true, threads: true, runs: true }));

const send = (method: string, route: string, body?: unknown, url = heddle.url) =>
  fetch(`${url}${route}`, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
const status = async (method: string, route: string, body?: unknown) =>
  (await send(method, route, body)).status;
const names = (assistants: readonly { name: string }[]) => assistants.map(({ name }) => name);

describe("an assistant is made", () => {
  it("with what it is given, and defaults for the rest, by either SDK", async () => {
    const made = await client.assistants.create({
      graphId: "echo",
      assistantId: NO_ID,
      name: "Mine",
      description: "One of them",
      config: { tags: ["a"], recursion_limit: 7, configurable: { model: "m" } },
      context: { tone: "low" },
      metadata: { team: { id: 1 } },
    });
    expect(made).toEqual({
      assistant_id: NO_ID,
      graph_id: "echo",
      name: "Mine",
      description: "One of them",
      config: { tags: ["a"], recursion_limit: 7, configurable: { model: "m" } },
      context: { tone: "low" },
      metadata: { team: { id: 1 } },
      version: 1,
      created_at: expect.stringMatching(/^\d{4}-.*Z$/),
      updated_at: expect.stringMatching(/^\d{4}-.*Z$/),
    });
    expect(await client.assistants.get(NO_ID)).toEqual(made);
    const plain = await next.assistants.create({ graphId: "echo" });
    expect(plain).toMatchObject({
      name: "Untitled",
      description: null,
      config: {},
      context: {},
      metadata: {},
      version: 1,
    });
  });

  it("once under its own id, however many ask at the same time", async () => {
    const asked = await Promise.all(
      Array.from({ length: 8 }, (_, i) =>
        send("POST", "/assistants", { graph_id: "echo", assistant_id: NO_ID, name: `${i}` }),
      ),
    );
    expect(asked.map((response) => response.status).sort()).toEqual([200, ...Array(7).fill(409)]);
    const again = await send("POST", "/assistants", { graph_id: "echo", assistant_id: NO_ID });
    expect(await again.text()).toBe("Assistant already exists");
    const kept = await client.assistants.create({
      graphId: "script",
      assistantId: NO_ID,
      ifExists: "do_nothing",
    });
    expect(kept).toMatchObject({ graph_id: "echo", version: 1 });
  });

  it("not of an unknown graph, and not over a graph's own", async () => {
    const response = await send("POST", "/assistants", { graph_id: "nobody" });
    expect(response.status).toBe(404);
    expect(await response.text()).toMatch(/nobody/);
    const { assistant_id } = await client.assistants.get("echo");
    expect(await status("POST", "/assistants", { graph_id: "script", assistant_id })).toBe(409);
  });

  it.each([
    [{}, /graph_id/],
    [{ graph_id: 1 }, /graph_id/],
    [{ graph_id: "echo", assistant_id: "mine" }, /assistant_id/],
    [{ graph_id: "echo", config: { configurable: 1 } }, /configurable/],
    [{ graph_id: "echo", config: { recursion_limit: "many" } }, /recursion_limit/],
    [{ graph_id: "echo", context: "low" }, /context/],
    [{ graph_id: "echo", metadata: [] }, /metadata/],
    [{ graph_id: "echo", if_exists: "perhaps" }, /if_exists/],
    [{ graph_id: "echo", name: 5 }, /name/],
  ])("not of %j: the field is named", async (body, field) => {
    const response = await send("POST", "/assistants", body);
    expect(response.status).toBe(422);
    expect(await response.text()).toMatch(field);
  });

  it("and its configuration reaches what it runs", async () => {
    const { assistant_id } = await client.assistants.create({
      graphId: "made",
      config: { configurable: { flavour: "mint" } },
    });
    expect(await client.runs.wait(null, assistant_id, { input: {} })).toEqual({
      seen: "mint for threads.create_run",
    });
  });
});

describe("assistants are found", () => {
  const make = async () => {
    for (const [name, graphId, metadata] of [
      ["Beta", "echo", { kind: { of: "a", tags: ["x", "y"] } }],
      ["alpha", "script", { kind: { of: "b" } }],
      ["Gamma 100%", "echo", { kind: { of: "a" } }],
    ] as const) {
      await client.assistants.create({ graphId, name, metadata });
    }
  };

  it("in the order that is asked for", async () => {
    await make();
    const metadata = { kind: {} };
    const by = async (
      sortBy: "name" | "created_at" | "updated_at" | "assistant_id",
      sortOrder: "asc" | "desc",
    ) => names(await client.assistants.search({ metadata, sortBy, sortOrder }));
    expect(await by("created_at", "asc")).toEqual(["Beta", "alpha", "Gamma 100%"]);
    expect(names(await client.assistants.search({ metadata }))).toEqual(["Gamma 100%", "alpha", "Beta"]);
    const byName = await by("name", "asc");
    expect([...byName].sort()).toEqual(["Beta", "Gamma 100%", "alpha"]);
    expect(await by("name", "desc")).toEqual([...byName].reverse());
    const [first] = await client.assistants.search({ metadata, sortBy: "created_at", sortOrder: "asc" });
    await client.assistants.update(first?.assistant_id ?? "", {});
    expect((await by("updated_at", "desc"))[0]).toBe("Beta");
    // Ids are made in the order of time.
    expect(await by("assistant_id", "asc")).toEqual(["Beta", "alpha", "Gamma 100%"]);
    const graphs = await next.assistants.search({ metadata, sortBy: "graph_id", sortOrder: "desc" });
    expect(graphs.map(({ graph_id }) => graph_id)).toEqual(["script", "echo", "echo"]);
  });

  it("by graph, by a part of the name, by metadata within metadata; and counted so", async () => {
    await make();
    const found = async (query: { graphId?: string; name?: string; metadata?: Record<string, unknown> }) => {
      const rows = await client.assistants.search({ ...query, limit: 100 });
      expect(await client.assistants.count(query)).toBe(rows.length);
      expect(await next.assistants.count(query)).toBe(rows.length);
      return names(rows).sort();
    };
    expect(await found({ graphId: "echo", metadata: { kind: {} } })).toEqual(["Beta", "Gamma 100%"]);
    expect(await found({ name: "LPH" })).toEqual(["alpha"]);
    expect(await found({ name: "%" })).toEqual(["Gamma 100%"]);
    expect(await found({ name: "_" })).toEqual([]);
    expect(await found({ metadata: { kind: { of: "a" } } })).toEqual(["Beta", "Gamma 100%"]);
    expect(await found({ metadata: { kind: { tags: ["y"] } } })).toEqual(["Beta"]);
    expect(await found({ metadata: { created_by: "system" } })).toEqual([
      "builder",
      "echo",
      "made",
      "promised",
      "script",
      "shapes",
    ]);
    expect(await found({ graphId: "nobody" })).toEqual([]);
  });

  it("in pages whose headers are right", async () => {
    await make();
    const page = async (limit: number, offset: number) => {
      const response = await send("POST", "/assistants/search", { metadata: { kind: {} }, limit, offset });
      const rows = (await response.json()) as unknown[];
      const { headers } = response;
      return [rows.length, headers.get("x-pagination-total"), headers.get("x-pagination-next")];
    };
    expect(await page(2, 0)).toEqual([2, "3", "2"]);
    expect(await page(2, 2)).toEqual([1, "3", null]);
    expect(await page(3, 0)).toEqual([3, "3", null]);
    expect(await page(1, 9)).toEqual([0, "3", null]);
    const all = await next.assistants.search({ metadata: { kind: {} }, limit: 2, includePagination: true });
    expect(all.next).toBe("2");
  });

  it("with the fields that are selected", async () => {
    const rows = await client.assistants.search({ name: "echo", select: ["name", "graph_id"] });
    expect(rows).toEqual([{ name: "echo", graph_id: "echo" }]);
    expect(await status("POST", "/assistants/search", { select: ["password"] })).toBe(422);
    expect(await status("POST", "/assistants/search", { sort_by: "config" })).toBe(422);
    expect(await status("POST", "/assistants/search", { limit: 0 })).toBe(422);
  });

  it("also when their graph is no longer served", async () => {
    await heddle.database.db.query(
      `insert into heddle.assistants (assistant_id, graph_id, name) values ($1::uuid, 'gone', 'Left over')`,
      [NO_ID],
    );
    expect(names(await client.assistants.search({ name: "left" }))).toEqual(["Left over"]);
    expect(await client.assistants.get(NO_ID)).toMatchObject({ graph_id: "gone" });
    for (const what of ["graph", "schemas", "subgraphs"]) {
      expect(await status("GET", `/assistants/${NO_ID}/${what}`)).toBe(404);
    }
    expect(await status("POST", "/runs/wait", { assistant_id: NO_ID, input: {} })).toBe(404);
    await client.assistants.delete(NO_ID);
  });
});

describe("an assistant is changed", () => {
  it("in versions: what is not said stays, metadata is merged, and every version can be had again", async () => {
    const { assistant_id } = await client.assistants.create({
      graphId: "echo",
      name: "One",
      config: { configurable: { a: 1 } },
      context: { tone: "low" },
      metadata: { kept: 1, changed: 1 },
    });
    const second = await client.assistants.update(assistant_id, {
      name: "Two",
      graphId: "script",
      config: { configurable: { b: 2 } },
      context: { tone: "high" },
      description: "changed",
      metadata: { changed: 2 },
    });
    expect(second).toMatchObject({
      name: "Two",
      graph_id: "script",
      description: "changed",
      config: { configurable: { b: 2 } },
      context: { tone: "high" },
      metadata: { kept: 1, changed: 2 },
      version: 2,
    });
    expect(second.config).not.toHaveProperty("configurable.a");
    expect(await client.assistants.update(assistant_id, {})).toMatchObject({ name: "Two", version: 3 });

    const back = await client.assistants.setLatest(assistant_id, 1);
    expect(back).toMatchObject({
      version: 1,
      name: "One",
      graph_id: "echo",
      description: null,
      config: { configurable: { a: 1 } },
      context: { tone: "low" },
      metadata: { kept: 1, changed: 1 },
    });
    expect(await client.assistants.get(assistant_id)).toEqual(back);
    // The next version grows from this one, with a number that none has had.
    expect(await client.assistants.update(assistant_id, { name: "Four" })).toMatchObject({
      version: 4,
      graph_id: "echo",
    });

    const versions = await client.assistants.getVersions(assistant_id);
    expect(versions.map(({ version, name }) => [version, name])).toEqual([
      [4, "Four"],
      [3, "Two"],
      [2, "Two"],
      [1, "One"],
    ]);
    expect(versions[0]).not.toHaveProperty("updated_at");
    const some = await next.assistants.getVersions(assistant_id, {
      metadata: { changed: 2 },
      limit: 1,
      offset: 1,
    });
    expect(some.map(({ version }) => version)).toEqual([2]);
  });

  it("by many at once, and each makes a version of its own", async () => {
    const { assistant_id } = await client.assistants.create({ graphId: "echo" });
    const changed = await Promise.all(
      Array.from({ length: 10 }, (_, i) =>
        client.assistants.update(assistant_id, { metadata: { [`k${i}`]: i } }),
      ),
    );
    expect(changed.map(({ version }) => version).sort((a, b) => a - b)).toEqual([
      2, 3, 4, 5, 6, 7, 8, 9, 10, 11,
    ]);
    const { metadata, version } = await client.assistants.get(assistant_id);
    expect(version).toBe(11);
    expect(Object.keys(metadata ?? {})).toHaveLength(10);
  });

  it("not to an unknown graph, or to a version that is not there", async () => {
    const { assistant_id } = await client.assistants.create({ graphId: "echo" });
    expect(await status("PATCH", `/assistants/${assistant_id}`, { graph_id: "nobody" })).toBe(404);
    const response = await send("POST", `/assistants/${assistant_id}/latest`, { version: 9 });
    expect(response.status).toBe(404);
    expect(await response.text()).toBe("Assistant version not found");
    expect(await status("POST", `/assistants/${assistant_id}/latest`, { version: "x" })).toBe(422);
    expect(await status("POST", `/assistants/${assistant_id}/latest`, {})).toBe(422);
    expect(await client.assistants.get(assistant_id)).toMatchObject({ version: 1 });
  });
});

describe("an assistant is deleted", () => {
  it("with its versions and runs; its threads stay", async () => {
    const { assistant_id } = await client.assistants.create({ graphId: "echo" });
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, assistant_id, { input: human("hi") });
    const response = await send("DELETE", `/assistants/${assistant_id}`);
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual([assistant_id]);
    expect(await status("GET", `/assistants/${assistant_id}`)).toBe(404);
    expect(await status("DELETE", `/assistants/${assistant_id}`)).toBe(404);
    expect(await client.runs.list(thread_id)).toEqual([]);
    expect(await client.threads.get(thread_id)).toMatchObject({ status: "idle" });
    const { db } = heddle.database;
    expect(
      await db.query("select 1 from heddle.assistant_versions where assistant_id = $1::uuid", [assistant_id]),
    ).toEqual([]);
  });

  it("while it runs: the run is stopped, and the thread is free", async () => {
    const { assistant_id } = await client.assistants.create({ graphId: "script" });
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, assistant_id, { input: human("wait deleted") });
    await expect.poll(async () => (await client.runs.get(thread_id, run_id)).status).toBe("running");
    await client.runs.create(thread_id, assistant_id, {
      input: human("say later"),
      multitaskStrategy: "enqueue",
    });
    await client.assistants.delete(assistant_id);
    expect(await client.runs.list(thread_id)).toEqual([]);
    expect(await client.threads.get(thread_id)).toMatchObject({ status: "idle" });
    openGate("deleted");
    await expect.poll(() => heddle.app.activeRuns()).toBe(0);
    // What it would have written is refused.
    const { values } = await client.threads.getState<{ messages?: unknown[] }>(thread_id);
    expect(values.messages ?? []).not.toContainEqual(expect.objectContaining({ content: "waited" }));
    await client.runs.wait(thread_id, "script", { input: human("say something") });
  });

  it("with the threads that were run with it, when that is asked", async () => {
    const { assistant_id } = await client.assistants.create({ graphId: "echo" });
    const threads = await Promise.all(Array.from({ length: 3 }, () => client.threads.create()));
    for (const { thread_id } of threads) {
      await client.runs.wait(thread_id, assistant_id, { input: human("hi") });
    }
    const other = await client.threads.create();
    await client.runs.wait(other.thread_id, "echo", { input: human("hi") });
    await next.assistants.delete(assistant_id, { deleteThreads: true });
    for (const { thread_id } of threads) expect(await status("GET", `/threads/${thread_id}`)).toBe(404);
    expect(await status("GET", `/threads/${other.thread_id}`)).toBe(200);
  });

  it("but not when it is a graph's own, nor are its threads", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "echo", { input: human("hi") });
    const response = await send("DELETE", "/assistants/echo?delete_threads=true");
    expect(response.status).toBe(409);
    expect(await response.text()).toMatch(/"echo" of langgraph.json/);
    expect(await status("GET", `/threads/${thread_id}`)).toBe(200);
    await client.runs.wait(null, "echo", { input: human("hi") });
  });
});

describe("what is not there is 404", () => {
  it.each(["nobody", NO_ID])("%s", async (id) => {
    for (const [method, route, body] of [
      ["GET", "", undefined],
      ["PATCH", "", {}],
      ["DELETE", "", undefined],
      ["POST", "/latest", { version: 1 }],
    ] as const) {
      const response = await send(method, `/assistants/${id}${route}`, body);
      expect(response.status).toBe(404);
      expect(await response.text()).toBe("Assistant not found");
    }
    const versions = await send("POST", `/assistants/${id}/versions`, {});
    expect(versions.status).toBe(404);
    expect(await versions.text()).toBe(`Assistant "${id}" not found.`);
  });
});

describe("a graph's own assistant", () => {
  const seeded = (tone: string) =>
    startApp({
      beside: heddle,
      env: {
        LANGGRAPH_CONFIG: JSON.stringify({ made: { configurable: { flavour: tone }, context: { tone } } }),
      },
    });

  it("starts with LANGGRAPH_CONFIG, follows it from start to start, and no more once it is changed", async () => {
    for (const tone of ["mint", "rose"]) {
      const other = await seeded(tone);
      expect(await other.client.assistants.get("made")).toMatchObject({
        config: { configurable: { flavour: tone } },
        context: { tone },
        version: 1,
        metadata: { created_by: "system" },
      });
      expect(await other.client.runs.wait(null, "made", { input: {} })).toEqual({
        seen: `${tone} for threads.create_run`,
      });
      await other.close();
    }
    await client.assistants.update("made", { config: { configurable: { flavour: "own" } } });
    const other = await seeded("plum");
    expect(await other.client.assistants.get("made")).toMatchObject({
      config: { configurable: { flavour: "own" } },
      version: 2,
    });
    await other.close();
    await client.assistants.setLatest("made", 1);
  });

  it("takes its id back from an assistant that somebody else has made under it", async () => {
    const { assistant_id } = await client.assistants.get("echo");
    await heddle.database.db.query(
      `update heddle.assistants
       set system = false, graph_id = 'script', metadata = '{"created_by": "system"}'
       where assistant_id = $1::uuid`,
      [assistant_id],
    );
    const other = await startApp({ beside: heddle });
    expect(await other.client.assistants.get("echo")).toMatchObject({
      assistant_id,
      graph_id: "echo",
      version: 1,
    });
    await other.close();
  });
});

describe("with rules that give each caller what is his", () => {
  let guarded: TestApp;
  const as = async (identity: string, permissions: string[] = []) =>
    new Client({
      apiUrl: guarded.url,
      defaultHeaders: { authorization: `Bearer ${await signToken(identity, permissions)}` },
      callerOptions: { maxRetries: 0 },
    });
  beforeAll(async () => {
    guarded = await startApp({ graphs: fixture("auth") });
  });
  afterAll(() => guarded.close());

  it("nobody sees or changes another's assistant, and its id is taken all the same", async () => {
    const ann = await as("ann");
    const bob = await as("bob");
    const { assistant_id, metadata } = await ann.assistants.create({ graphId: "echo", name: "Ann's" });
    expect(metadata).toEqual({ owner: "ann" });
    await ann.assistants.update(assistant_id, { name: "Still Ann's" });
    const other = (act: (id: string) => Promise<unknown>) =>
      expect(act(assistant_id)).rejects.toThrow(/^HTTP 404/);
    await other((id) => bob.assistants.get(id));
    await other((id) => bob.assistants.getGraph(id));
    await other((id) => bob.assistants.getSchemas(id));
    await other((id) => bob.assistants.getSubgraphs(id));
    await other((id) => bob.assistants.getVersions(id));
    await other((id) => bob.assistants.setLatest(id, 1));
    await other((id) => bob.assistants.update(id, { name: "Bob's" }));
    await other((id) => bob.assistants.delete(id));
    await expect(
      bob.assistants.create({ graphId: "echo", assistantId: assistant_id, ifExists: "do_nothing" }),
    ).rejects.toThrow("HTTP 409: Assistant already exists");
    expect(await bob.assistants.search()).toEqual([]);
    expect(await bob.assistants.count()).toBe(0);
    expect(names(await ann.assistants.search())).toEqual(["Still Ann's"]);
    expect(await ann.assistants.get(assistant_id)).toMatchObject({ version: 2 });
    // A version from before it was Ann's is not hers to go back to.
    await guarded.database.db.query(
      "update heddle.assistant_versions set metadata = '{}' where assistant_id = $1::uuid and version = 1",
      [assistant_id],
    );
    await expect(ann.assistants.setLatest(assistant_id, 1)).rejects.toThrow("Assistant version not found");
    expect((await ann.assistants.getVersions(assistant_id)).map(({ version }) => version)).toEqual([2]);
  });

  it("a graph's own assistant is not seen, as on the official server, but everybody may run it", async () => {
    const ann = await as("ann");
    await expect(ann.assistants.get("echo")).rejects.toThrow("HTTP 404: Assistant not found");
    expect(await ann.runs.wait(null, "echo", { input: human("hi") })).toHaveProperty("messages");
    const admin = await as("root", ["admin"]);
    expect(await admin.assistants.get("echo")).toMatchObject({ name: "echo" });
  });

  it("threads of others stay when an assistant is deleted with its threads", async () => {
    const [ann, bob, admin] = [await as("ann"), await as("bob"), await as("root", ["admin"])];
    const { assistant_id } = await ann.assistants.create({ graphId: "echo" });
    const his = await bob.threads.create({ metadata: { assistant_id } });
    const hers = await ann.threads.create({ metadata: { assistant_id } });
    await ann.assistants.delete(assistant_id, { deleteThreads: true });
    expect(await admin.threads.get(his.thread_id)).toMatchObject({ thread_id: his.thread_id });
    await expect(admin.threads.get(hers.thread_id)).rejects.toThrow(/^HTTP 404/);
  });
});

describe("POST /internal/truncate", () => {
  const count = async (table: string) =>
    (await heddle.database.db.query(`select 1 from heddle.${table}`)).length;

  it("deletes what it is told, and keeps the graphs' own assistants", async () => {
    await client.assistants.create({ graphId: "echo" });
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "echo", { input: human("hi") });
    expect(await status("POST", "/internal/truncate", {})).toBe(200);
    expect(await count("runs")).toBe(1);
    const response = await send("POST", "/internal/truncate", { runs: true });
    expect(await response.json()).toEqual({ ok: true });
    expect([await count("runs"), await count("run_events"), await count("threads")]).toEqual([0, 0, 1]);
    await send("POST", "/internal/truncate", {
      runs: true,
      threads: true,
      assistants: true,
      checkpointer: true,
      store: true,
    });
    for (const table of ["threads", "checkpoints", "checkpoint_blobs", "checkpoint_writes"]) {
      expect(await count(table), table).toBe(0);
    }
    expect(names(await client.assistants.search({ sortBy: "name", sortOrder: "asc" }))).toEqual([
      "builder",
      "echo",
      "made",
      "promised",
      "script",
      "shapes",
    ]);
    expect(await status("POST", "/internal/truncate", { runs: "yes" })).toBe(422);
  });

  it("stops what runs", async () => {
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, "script", { input: human("wait truncated") });
    await expect.poll(async () => (await client.runs.get(thread_id, run_id)).status).toBe("running");
    await send("POST", "/internal/truncate", { threads: true, runs: true, checkpointer: true });
    openGate("truncated");
    await expect.poll(() => heddle.app.activeRuns()).toBe(0);
    expect([await count("threads"), await count("checkpoints")]).toEqual([0, 0]);
  });

  it("is not there unless it is allowed", async () => {
    const other = await startApp();
    expect((await send("POST", "/internal/truncate", { threads: true }, other.url)).status).toBe(404);
    await other.close();
  });
});
