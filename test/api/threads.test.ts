// Threads, their state and history, and assistants, through the official SDK.
import { randomUUID } from "node:crypto";
import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached } from "../helpers/gates.ts";
import { human, lastText } from "../helpers/sdk.ts";

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp();
});
afterAll(() => heddle.close());

const wait = (threadId: string, text: string, payload: object = {}) =>
  heddle.client.runs.wait(threadId, "script", { input: human(text), ...payload });

async function threadWith(...texts: string[]): Promise<string> {
  const { thread_id } = await heddle.client.threads.create();
  for (const text of texts) await wait(thread_id, text);
  return thread_id;
}

describe("threads", () => {
  it("are made with the id and metadata that were asked for", async () => {
    const threadId = randomUUID();
    const thread = await heddle.client.threads.create({ threadId, metadata: { owner: "ada" } });
    expect(thread).toMatchObject({ thread_id: threadId, status: "idle", metadata: { owner: "ada" } });
    expect(thread).not.toHaveProperty("values");
  });

  it("are not made twice, unless that is welcome", async () => {
    const { thread_id: threadId } = await heddle.client.threads.create({ metadata: { first: true } });
    await expect(heddle.client.threads.create({ threadId })).rejects.toThrow(
      "HTTP 409: Thread already exists",
    );
    const same = await heddle.client.threads.create({ threadId, ifExists: "do_nothing" });
    expect(same.metadata).toEqual({ first: true });
  });

  it("take metadata key by key", async () => {
    const { thread_id } = await heddle.client.threads.create({ metadata: { a: 1, b: 1 } });
    const changed = await heddle.client.threads.update(thread_id, { metadata: { b: 2, c: 3 } });
    expect((changed as { metadata: object }).metadata).toEqual({ a: 1, b: 2, c: 3 });
  });

  it("are searched by metadata, status and ids, in pages and any order", async () => {
    const group = randomUUID();
    const ids: string[] = [];
    for (let i = 0; i < 5; i++) {
      const { thread_id } = await heddle.client.threads.create({ metadata: { group, nested: { i } } });
      ids.push(thread_id);
    }
    const found = (query: object) =>
      heddle.client.threads
        .search({ metadata: { group }, ...query })
        .then((threads) => threads.map((t) => t.thread_id));
    expect(await found({})).toEqual([...ids].reverse());
    expect(await found({ sortBy: "created_at", sortOrder: "asc" })).toEqual(ids);
    expect(await found({ sortOrder: "asc", limit: 2, offset: 3 })).toEqual(ids.slice(3));
    expect(await found({ metadata: { group, nested: { i: 2 } } })).toEqual([ids[2]]);
    expect(await found({ ids: [ids[1], ids[4]] })).toEqual([ids[4], ids[1]]);
    expect(await found({ status: "busy" })).toEqual([]);
    const response = await fetch(`${heddle.url}/threads/search`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ metadata: { group }, limit: 2 }),
    });
    expect(response.headers.get("x-pagination-total")).toBe("5");
    expect(response.headers.get("x-pagination-next")).toBe("2");
  });

  it("show their values when found, and only what was selected", async () => {
    const threadId = await threadWith("do it");
    const [thread] = await heddle.client.threads.search({ ids: [threadId] });
    expect(lastText(thread?.values)).toBe("1 it");
    const [slim] = await heddle.client.threads.search({ ids: [threadId], select: ["thread_id", "status"] });
    expect(slim).toEqual({ thread_id: threadId, status: "idle" });
  });

  it("are gone with their rows, checkpoints and files when they are deleted, also in the middle of a run", async () => {
    const threadId = await threadWith("do it");
    const folder = path.join(heddle.dataDir, "threads", threadId, "user-data", "outputs");
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, "report.md"), "x");
    await heddle.client.runs.create(threadId, "script", { input: human("wait deleted") });
    await gateReached("deleted");
    await heddle.client.threads.delete(threadId);
    await expect(heddle.client.threads.get(threadId)).rejects.toThrow(
      `HTTP 404: Thread with ID ${threadId} not found`,
    );
    expect(existsSync(path.join(heddle.dataDir, "threads", threadId))).toBe(false);
    for (const table of ["threads", "runs", "checkpoints", "checkpoint_blobs", "checkpoint_writes"]) {
      const rows = await heddle.database.db.query(
        `select 1 from heddle.${table} where thread_id::text = $1`,
        [threadId],
      );
      expect(rows, table).toEqual([]);
    }
    expect(heddle.app.activeRuns()).toBe(0);
  });
});

describe("state", () => {
  it("is empty before the first run", async () => {
    const { thread_id } = await heddle.client.threads.create();
    expect(await heddle.client.threads.getState(thread_id)).toMatchObject({
      values: {},
      next: [],
      checkpoint: null,
    });
  });

  it("is read at an earlier checkpoint, by either route", async () => {
    const threadId = await threadWith("do a", "do b");
    const history = await heddle.client.threads.getHistory(threadId, { limit: 100 });
    expect(history).toHaveLength(6);
    const early = history.find((state) => lastText(state.values) === "1 a");
    const checkpoint = early?.checkpoint;
    if (!checkpoint?.checkpoint_id) throw new Error("no such checkpoint");
    for (const at of [checkpoint.checkpoint_id, checkpoint]) {
      const state = await heddle.client.threads.getState(threadId, at as string);
      expect(lastText(state.values)).toBe("1 a");
      expect(state.checkpoint.checkpoint_id).toBe(checkpoint.checkpoint_id);
    }
  });

  it("is unknown at a checkpoint that is not the thread's", async () => {
    const threadId = await threadWith("do a");
    await expect(heddle.client.threads.getState(threadId, randomUUID())).rejects.toThrow(
      "HTTP 404: Checkpoint",
    );
  });

  it("is changed from outside, and the next run sees it", async () => {
    const threadId = await threadWith("do a");
    const { checkpoint } = (await heddle.client.threads.updateState(threadId, {
      values: human("added"),
      asNode: "act",
    })) as unknown as { checkpoint: { thread_id: string; checkpoint_id: string } };
    expect(checkpoint.thread_id).toBe(threadId);
    const state = await heddle.client.threads.getState(threadId);
    expect(state.checkpoint.checkpoint_id).toBe(checkpoint.checkpoint_id);
    expect(lastText(state.values)).toBe("added");
    expect(lastText(await wait(threadId, "do b"))).toBe("4 b");
  });

  it("is not changed as a node that the graph does not have", async () => {
    const threadId = await threadWith("do a");
    await expect(
      heddle.client.threads.updateState(threadId, { values: human("x"), asNode: "nobody" }),
    ).rejects.toThrow("HTTP 422");
  });

  it("is not changed while a run is going on", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const run = await heddle.client.runs.create(thread_id, "script", { input: human("wait busy") });
    await gateReached("busy");
    await expect(heddle.client.threads.updateState(thread_id, { values: human("x") })).rejects.toThrow(
      "HTTP 409: Thread is busy",
    );
    await heddle.client.runs.cancel(thread_id, run.run_id, true);
  });

  it("forks: a run from an earlier checkpoint leaves the old branch as it was", async () => {
    const threadId = await threadWith("do a", "do b");
    const history = await heddle.client.threads.getHistory(threadId, { limit: 100 });
    const fork = history.find((state) => lastText(state.values) === "1 a");
    const branch = await wait(threadId, "do c", { checkpoint: fork?.checkpoint });
    expect((branch as { messages: { content: string }[] }).messages.map((m) => m.content)).toEqual([
      "do a",
      "1 a",
      "do c",
      "3 c",
    ]);
    expect(lastText((await heddle.client.threads.getState(threadId)).values)).toBe("3 c");
    const old = history[0]?.checkpoint.checkpoint_id;
    expect(lastText((await heddle.client.threads.getState(threadId, old as string)).values)).toBe("3 b");
  });

  it("has a history in pages, newest first, searched by metadata", async () => {
    const threadId = await threadWith("do a", "do b", "do c");
    const all = await heddle.client.threads.getHistory(threadId, { limit: 100 });
    expect(all).toHaveLength(9);
    const page = await heddle.client.threads.getHistory(threadId, { limit: 4 });
    expect(page).toEqual(all.slice(0, 4));
    const before = page.at(-1)?.checkpoint;
    const next = await heddle.client.threads.getHistory(threadId, {
      limit: 100,
      before: { configurable: { checkpoint_id: before?.checkpoint_id } } as never,
    });
    expect(next).toEqual(all.slice(4));
    const [run] = await heddle.client.runs.list(threadId);
    const ofRun = await heddle.client.threads.getHistory(threadId, {
      limit: 100,
      metadata: { run_id: run?.run_id },
    });
    expect(ofRun).toEqual(all.slice(0, 3));
  });
});

describe("assistants", () => {
  it("are there for every graph, under the id of the official server", async () => {
    const found = await heddle.client.assistants.search({ limit: 100, sortBy: "name", sortOrder: "asc" });
    expect(found.map((assistant) => assistant.name)).toEqual([
      "builder",
      "echo",
      "made",
      "promised",
      "script",
      "shapes",
    ]);
    const script = await heddle.client.assistants.get("script");
    expect(script).toMatchObject({ graph_id: "script", metadata: { created_by: "system" }, version: 1 });
    // uuid v5 of "script" in the LangGraph server's namespace.
    expect(script.assistant_id).toBe("c8ceea74-4ce5-5066-abfe-4afc7ac699b3");
    expect(await heddle.client.assistants.get(script.assistant_id)).toEqual(script);
  });

  it("are searched by graph and by part of the name", async () => {
    const names = async (query: object) =>
      (await heddle.client.assistants.search(query)).map((assistant) => assistant.name);
    expect(await names({ graphId: "made" })).toEqual(["made"]);
    expect(await names({ name: "SCR" })).toEqual(["script"]);
    expect(await names({ graphId: "nobody" })).toEqual([]);
  });

  it("are told apart from what is not served", async () => {
    await expect(heddle.client.assistants.get("nobody")).rejects.toThrow("HTTP 404: Assistant not found");
    await expect(heddle.client.runs.wait(null, "nobody", { input: {} })).rejects.toThrow(
      /HTTP 404: No assistant found for "nobody"/,
    );
  });
});

describe("the server itself", () => {
  it("says that it is well, what it is, and which models it has", async () => {
    const get = async (route: string) => (await fetch(heddle.url + route)).json();
    expect(await get("/ok")).toEqual({ ok: true });
    expect(await get("/info")).toMatchObject({
      context: "js",
      flags: { assistants: true },
      heddle: { sandbox: { name: "virtual" } },
    });
    expect(await get("/models")).toEqual({
      models: [{ name: "demo", model: "demo", supports_vision: false, is_default: true }],
    });
  });

  it("may be called from any web origin, and shows a browser the headers that the SDK reads", async () => {
    const response = await fetch(`${heddle.url}/ok`, { headers: { origin: "https://app.example" } });
    expect(response.headers.get("access-control-allow-origin")).toBe("*");
    expect(response.headers.get("access-control-expose-headers")).toContain("content-location");
    const preflight = await fetch(`${heddle.url}/threads`, {
      method: "OPTIONS",
      headers: {
        origin: "https://app.example",
        "access-control-request-method": "POST",
        "access-control-request-headers": "content-type,x-api-key",
      },
    });
    expect(preflight.status).toBe(204);
    expect(preflight.headers.get("access-control-allow-headers")).toContain("x-api-key");
  });
});
