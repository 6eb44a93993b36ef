// The routes of runs beyond taking one: several at once, listed, cancelled, deleted, joined; and what of a request goes
// into a run.
import { randomUUID } from "node:crypto";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { collect, human, lastText } from "../helpers/sdk.ts";

let heddle: TestApp;
let next: NextClient;
beforeAll(async () => {
  heddle = await startApp();
  next = new NextClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
});
afterAll(() => heddle.close());

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const background = (threadId: string, text: string, payload: object = {}) =>
  heddle.client.runs.create(threadId, "script", { input: human(text), ...payload });
const wait = (threadId: string, text: string, payload: object = {}) =>
  heddle.client.runs.wait(threadId, "script", { input: human(text), ...payload });
const request = (method: string, route: string, body?: unknown) =>
  fetch(heddle.url + route, {
    method,
    ...(body === undefined
      ? {}
      : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) }),
  });
type Named = { thread_id: string; run_id: string };
const statusOf = async (threadId: string) => (await heddle.client.threads.get(threadId)).status;

describe("a batch", () => {
  it("takes all of its runs, with options in either spelling", async () => {
    const runs = await heddle.client.runs.createBatch([
      {
        assistantId: "script",
        input: human("do a"),
        onCompletion: "keep" as "complete",
        streamMode: ["updates"],
      },
      { assistantId: "script", input: human("do b"), onCompletion: "keep" as "complete" },
    ]);
    expect(runs.map(({ status }) => status)).toEqual(["pending", "pending"]);
    expect(runs.map((run) => (run as unknown as { kwargs: object }).kwargs)).toMatchObject([
      { stream_mode: ["updates"], temporary: false },
      { stream_mode: ["values"], temporary: false },
    ]);
    const [first] = runs;
    expect(lastText(await heddle.client.runs.join(first?.thread_id ?? "", first?.run_id ?? ""))).toBe("1 a");
  });

  it("takes none when one cannot be taken", async () => {
    const count = async () => (await heddle.database.db.query("select 1 from heddle.runs")).length;
    const before = await count();
    const response = await request("POST", "/runs/batch", [
      { assistant_id: "script", input: human("do a") },
      { assistant_id: "no such", input: human("do b") },
    ]);
    expect(response.status).toBe(404);
    expect(await count()).toBe(before);
  });

  it.each([
    [[]],
    [{}],
    [[{ input: {} }]],
    [[{ assistant_id: "script", streamMode: "odd" }]],
    [["x"]],
    [null],
  ])("that is none is refused: %j", async (body) =>
    expect((await request("POST", "/runs/batch", body)).status).toBe(422),
  );
});

describe("the list of runs", () => {
  it("has the newest first, in pages, of a status, with the wanted fields", async () => {
    const threadId = await newThread();
    const ids: string[] = [];
    for (const text of ["do a", "fail b", "do c"]) {
      const run = await background(threadId, text);
      await heddle.client.runs.join(threadId, run.run_id);
      ids.unshift(run.run_id);
    }
    const list = async (options: object) =>
      (await heddle.client.runs.list(threadId, options)).map(({ run_id }) => run_id);
    expect(await list({})).toEqual(ids);
    expect(await list({ limit: 2 })).toEqual(ids.slice(0, 2));
    expect(await list({ limit: 2, offset: 2 })).toEqual(ids.slice(2));
    expect(await list({ offset: 3 })).toEqual([]);
    expect(await list({ status: "error" })).toEqual([ids[1]]);
    expect(await next.runs.list(threadId, { limit: 1, select: ["run_id", "status"] })).toEqual([
      { run_id: ids[0], status: "success" },
    ]);
    expect((await request("GET", `/threads/${randomUUID()}/runs`)).status).toBe(404);
    expect((await request("GET", `/threads/${threadId}/runs?status=odd`)).status).toBe(422);
  });
});

describe("cancelling", () => {
  it("answers 202 at once, or 204 when the run has ended; the run says why", async () => {
    const threadId = await newThread();
    const first = await background(threadId, "wait cancel-1");
    await gateReached("cancel-1");
    const place = `/threads/${threadId}/runs/${first.run_id}`;
    expect((await request("POST", `${place}/cancel?wait=0`)).status).toBe(202);
    expect((await request("POST", `${place}/cancel?wait=1`)).status).toBe(204);
    expect(await next.runs.get(threadId, first.run_id)).toMatchObject({
      status: "interrupted",
      cancel_reason: "requested",
    });
    const second = await background(threadId, "wait cancel-2");
    await gateReached("cancel-2");
    await next.runs.cancel(threadId, second.run_id, true, "interrupt", { reason: "taken" });
    expect((await next.runs.get(threadId, second.run_id)).cancel_reason).toMatch(/^taken:/);
    expect((await request("POST", `${place}/cancel?action=rollback&reason=taken`)).status).toBe(422);
    expect((await request("POST", `/threads/${threadId}/runs/${randomUUID()}/cancel`)).status).toBe(404);
  });

  it("of many stops what is named, by id or by status", async () => {
    const threadId = await newThread();
    const running = await background(threadId, "wait many");
    await gateReached("many");
    const queued = await background(threadId, "do it", { multitaskStrategy: "enqueue" });
    await heddle.client.runs.cancelMany({ threadId, runIds: [queued.run_id] });
    expect((await heddle.client.runs.get(threadId, queued.run_id)).status).toBe("interrupted");
    expect((await heddle.client.runs.get(threadId, running.run_id)).status).toBe("running");
    await heddle.client.runs.cancelMany({ threadId, status: "all" });
    await heddle.client.runs.join(threadId, running.run_id);
    expect((await heddle.client.runs.get(threadId, running.run_id)).status).toBe("interrupted");
    expect(await statusOf(threadId)).toBe("idle");
    expect((await request("POST", "/runs/cancel", { run_ids: [randomUUID()] })).status).toBe(404);
    expect((await request("POST", "/runs/cancel", { run_ids: ["odd"] })).status).toBe(422);
    expect((await request("POST", "/runs/cancel", {})).status).toBe(422);
  });

  it("of a pending answer to a question leaves the thread waiting for one", async () => {
    const threadId = await newThread();
    await wait(threadId, "ask really?");
    const answer = await heddle.client.runs.create(threadId, "script", {
      command: { resume: "yes" },
      afterSeconds: 60,
    });
    expect(await statusOf(threadId)).toBe("busy");
    await heddle.client.runs.cancel(threadId, answer.run_id, true);
    expect(await statusOf(threadId)).toBe("interrupted");
    expect(lastText(await heddle.client.runs.wait(threadId, "script", { command: { resume: "yes" } }))).toBe(
      "1 yes",
    );
  });
});

describe("deleting a run", () => {
  it("removes it and its checkpoints: the state is the one before", async () => {
    const threadId = await newThread();
    await wait(threadId, "do a");
    const run = await background(threadId, "do b");
    await heddle.client.runs.join(threadId, run.run_id);
    await heddle.client.runs.delete(threadId, run.run_id);
    await expect(heddle.client.runs.get(threadId, run.run_id)).rejects.toThrow("HTTP 404");
    expect(lastText((await heddle.client.threads.getState(threadId)).values)).toBe("1 a");
    expect(lastText(await wait(threadId, "do c"))).toBe("3 c");
    expect((await request("DELETE", `/threads/${threadId}/runs/${run.run_id}`)).status).toBe(404);
  });

  it("leaves what the events of other runs rest on", async () => {
    const threadId = await newThread();
    const long = "long ".repeat(400);
    const runs = [];
    for (const text of ["do a", "do b", "do c"]) {
      const run = await background(threadId, `${text} ${long}`);
      await heddle.client.runs.join(threadId, run.run_id);
      runs.push(run);
    }
    const read = async (run?: { run_id: string }) =>
      collect(heddle.client.runs.joinStream(threadId, run?.run_id ?? "", { lastEventId: "-1" }));
    const before = await read(runs[2]);
    await heddle.client.runs.delete(threadId, runs[1]?.run_id ?? "");
    expect(await read(runs[2])).toEqual(before);
    expect(JSON.stringify(before)).not.toContain("StateLost");
  });

  it("stops one that is running, and leaves the question that it answered", async () => {
    const threadId = await newThread();
    await wait(threadId, "ask really?");
    const run = await background(threadId, "wait delete");
    await gateReached("delete");
    await heddle.client.runs.delete(threadId, run.run_id);
    await expect(heddle.client.runs.get(threadId, run.run_id)).rejects.toThrow("HTTP 404");
    expect(await statusOf(threadId)).toBe("interrupted");
    const state = await heddle.client.threads.getState(threadId);
    expect(state.next).toEqual(["act"]);
    expect(state.tasks[0]?.interrupts).toHaveLength(1);
  });

  it("of an answer brings the question back", async () => {
    const threadId = await newThread();
    await wait(threadId, "ask really?");
    const run = await heddle.client.runs.create(threadId, "script", { command: { resume: "yes" } });
    await heddle.client.runs.join(threadId, run.run_id);
    expect(await statusOf(threadId)).toBe("idle");
    await heddle.client.runs.delete(threadId, run.run_id);
    const thread = await heddle.client.threads.get(threadId);
    expect(thread.status).toBe("interrupted");
    expect(Object.values(thread.interrupts ?? {}).flat()).toMatchObject([{ value: "really?" }]);
  });
});

describe("a reader of a run", () => {
  it("gets the modes and graphs that it wants, with the ids that they have", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "note this", { streamMode: ["values", "updates", "custom"] });
    await heddle.client.runs.join(threadId, run.run_id);
    const read = async (options: object) =>
      collect(next.runs.joinStream(threadId, run.run_id, { lastEventId: "-1", ...options }));
    const all = await read({});
    expect(await read({ streamMode: ["custom"] })).toEqual(
      all.filter(({ event }) => event === "metadata" || event === "custom"),
    );
    expect(await read({ streamMode: "updates", streamNamespaces: [""] })).toEqual(
      all.filter(({ event }) => event === "metadata" || event === "updates"),
    );
    expect((await read({ streamNamespaces: ["elsewhere"] })).map(({ event }) => String(event))).toEqual([
      "metadata",
    ]);
    expect(
      (await request("GET", `/threads/${threadId}/runs/${run.run_id}/stream?stream_mode=odd`)).status,
    ).toBe(422);
    const stateless = await collect(next.runs.joinStream(null, run.run_id, { lastEventId: "-1" }));
    expect(stateless).toEqual(all);
    expect((await request("GET", `/runs/${randomUUID()}/stream`)).status).toBe(404);
  });

  it("gets what comes after a checkpoint", async () => {
    const threadId = await newThread();
    const run = await background(threadId, "do it", {
      streamMode: ["values", "debug"],
      streamSubgraphs: true,
    });
    await heddle.client.runs.join(threadId, run.run_id);
    const read = async (checkpointId: string) =>
      collect(next.runs.joinStream(threadId, run.run_id, { lastEventId: "-1", checkpointId }));
    const all = await read(randomUUID());
    const history = await heddle.client.threads.getHistory(threadId);
    const [last, before] = history.map(({ checkpoint }) => checkpoint?.checkpoint_id ?? "");
    expect((await read(last ?? "")).length).toBe(0);
    const rest = await read(before ?? "");
    expect(rest.length).toBeGreaterThan(0);
    expect(all.slice(-rest.length)).toEqual(rest);
    expect(JSON.stringify(rest)).toContain(last);
  });
});

describe("a run's request", () => {
  it("may fork in each of the ways, and the next run does not", async () => {
    const threadId = await newThread();
    await wait(threadId, "do a");
    await wait(threadId, "do b");
    const history = await heddle.client.threads.getHistory(threadId);
    const checkpoint = history.find(({ values }) => lastText(values) === "1 a")?.checkpoint;
    const checkpoint_id = checkpoint?.checkpoint_id ?? "";
    for (const fork of [
      { checkpointId: checkpoint_id },
      { checkpoint: { checkpoint_id, checkpoint_ns: "" } },
      { config: { configurable: { checkpoint_id } } },
    ]) {
      expect(lastText(await wait(threadId, "do c", fork))).toBe("3 c");
      expect(lastText(await wait(threadId, "do d"))).toBe("5 d");
    }
  });

  it("is refused when the thread does not have the checkpoint that it is to start from", async () => {
    const threadId = await newThread();
    await wait(threadId, "do a");
    const checkpoint_id = randomUUID();
    for (const fork of [
      { checkpointId: checkpoint_id },
      { checkpoint: { checkpoint_id, checkpoint_ns: "" } },
      { config: { configurable: { checkpoint_id } } },
    ]) {
      await expect(wait(threadId, "do b", fork)).rejects.toThrow(
        `HTTP 404: Checkpoint ${checkpoint_id} not found`,
      );
    }
    const fork = { checkpointId: checkpoint_id, multitaskStrategy: "rollback" } as const;
    const running = await background(threadId, "wait b");
    await gateReached("b");
    await expect(background(threadId, "do c", fork)).rejects.toThrow("HTTP 404");
    openGate("b");
    expect(lastText(await heddle.client.runs.join(threadId, running.run_id))).toBe("3 waited");
    expect(await heddle.client.runs.list(threadId)).toHaveLength(2);
  });

  it.each([
    [false, "1 false"],
    [0, "1 0"],
    ["", "1 "],
  ])("may answer a question with %j", async (resume, answer) => {
    const threadId = await newThread();
    await wait(threadId, "ask really?");
    expect(lastText(await heddle.client.runs.wait(threadId, "script", { command: { resume } }))).toBe(answer);
    expect(await statusOf(threadId)).toBe("idle");
  });

  it.each([
    { goto: "constructor" },
    { goto: ["act", { node: "toString", input: {} }] },
    { goto: { node: "__proto__" } },
  ])("cannot jump to what every object has: %j", async (command) => {
    const threadId = await newThread();
    await wait(threadId, "do a");
    const response = await request("POST", `/threads/${threadId}/runs/wait`, {
      assistant_id: "script",
      command,
    });
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringMatching(/^body\.command\.goto/),
    ]);
    expect(lastText(await wait(threadId, "do b"))).toBe("3 b");
  });

  it.each(["x", 5, [1], [["messages"]]])("cannot update the state with %j", async (update) => {
    const threadId = await newThread();
    const response = await request("POST", `/threads/${threadId}/runs`, {
      assistant_id: "script",
      command: { update },
    });
    expect([response.status, await response.text()]).toEqual([
      422,
      expect.stringMatching(/^body\.command\.update/),
    ]);
  });

  it("cannot say by a checkpoint who it is", async () => {
    const threadId = await newThread();
    const response = await request("POST", `/threads/${threadId}/runs`, {
      assistant_id: "script",
      input: human("do it"),
      checkpoint: { langgraph_auth_user_id: "bob", __pregel_read: 1, checkpoint_id: null },
    });
    const run = (await response.json()) as { kwargs: object };
    expect(JSON.stringify(run.kwargs)).not.toMatch(/bob|pregel/);
  });

  it("merges what assistant, thread and run say; a limit is for its run alone", async () => {
    const threadId = await newThread();
    const first = await background(threadId, "do a", {
      config: {
        recursion_limit: 7,
        configurable: { colour: "red", user_id: "ann" },
        metadata: { from: "me" },
      },
      metadata: { run: 1 },
    });
    await heddle.client.runs.join(threadId, first.run_id);
    const second = (await background(threadId, "do b", {
      config: { configurable: { size: 2 } },
    })) as unknown as {
      run_id: string;
      kwargs: { config: { recursion_limit?: number; configurable: object } };
    };
    await heddle.client.runs.join(threadId, second.run_id);
    expect(second.kwargs.config.recursion_limit).toBeUndefined();
    expect(second.kwargs.config.configurable).toMatchObject({
      colour: "red",
      size: 2,
      user_id: "ann",
      graph_id: "script",
      run_id: second.run_id,
      thread_id: threadId,
    });
    const [state] = await heddle.client.threads.getHistory(threadId, { metadata: { from: "me" }, limit: 1 });
    expect(state?.metadata).toMatchObject({ run: 1, run_id: first.run_id });
  });

  it.each([
    ["durability", "never"],
    ["strict_resume", "yes"],
    ["stream_resumable", 1],
    ["feedback_keys", { a: 1 }],
    ["langsmith_tracer", "x"],
    ["checkpoint_during", "no"],
    ["stream_mode", ["values", "odd"]],
    ["interrupt_before", 1],
    ["on_disconnect", "stay"],
    ["after_seconds", -1],
    ["multitask_strategy", "maybe"],
  ])("with a wrong %s is refused by name", async (field, value) => {
    const response = await request("POST", "/runs", { assistant_id: "script", [field]: value });
    expect(response.status).toBe(422);
    expect(await response.text()).toContain(field);
  });

  it.each([
    { durability: "exit" },
    { checkpoint_during: false },
    { feedback_keys: ["a"] },
    { stream_resumable: true },
    { langsmith_tracer: { project_name: "p" } },
  ])("is taken with %j", async (fields) => {
    const response = await request("POST", "/runs/wait", {
      assistant_id: "script",
      input: human("do it"),
      ...fields,
    });
    expect(response.status).toBe(200);
    expect(lastText(await response.json())).toBe("1 it");
  });
});

describe("strict_resume", () => {
  it("refuses an answer to a question that is not waiting, and changes nothing", async () => {
    const threadId = await newThread();
    await wait(threadId, "ask really?");
    const { interrupts } = await heddle.client.threads.get(threadId);
    const [waiting] = Object.values(interrupts ?? {}).flat();
    const unknown = "0".repeat(32);
    const run = await next.runs.create(threadId, "script", {
      command: { resume: { [unknown]: "yes" } },
      strictResume: true,
    });
    const result = await next.runs.join(threadId, run.run_id);
    expect(result).toMatchObject({ __error__: { error: "UnknownInterruptError" } });
    const events = await collect(next.runs.joinStream(threadId, run.run_id, { lastEventId: "-1" }));
    expect(events.at(-1)).toMatchObject({
      event: "error",
      data: { error: "UnknownInterruptError", interrupt_ids: [unknown], pending_ids: [waiting?.id] },
    });
    const thread = await heddle.client.threads.get(threadId);
    expect(thread).toMatchObject({ status: "interrupted", interrupts });
    const answer = { command: { resume: { [waiting?.id ?? ""]: "yes" } }, strictResume: true };
    expect(lastText(await next.runs.wait(threadId, "script", answer))).toBe("1 yes");
    await expect(next.runs.wait(threadId, "script", answer)).rejects.toThrow("UnknownInterruptError");
    expect(await statusOf(threadId)).toBe("idle");
  });
});

describe("the rules of a project", () => {
  const KEYS = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };
  let guarded: TestApp;
  beforeAll(async () => {
    guarded = await startApp({
      env: {
        API_KEYS: Object.entries(KEYS)
          .map(([name, key]) => `${name}:${key}`)
          .join(","),
      },
    });
  });
  afterAll(() => guarded.close());
  const as = (name: keyof typeof KEYS) =>
    new NextClient({ apiUrl: guarded.url, apiKey: KEYS[name], callerOptions: { maxRetries: 0 } });

  it("hide the runs of one from another, and let nobody stop them", async () => {
    const [ann, bob] = [as("ann"), as("bob")];
    const thread_id = randomUUID();
    const run = await ann.runs.create(thread_id, "script", {
      input: human("wait guarded"),
      ifNotExists: "create",
    });
    await gateReached("guarded");
    for (const act of [
      () => bob.runs.get(thread_id, run.run_id),
      () => bob.runs.list(thread_id),
      () => bob.runs.cancel(thread_id, run.run_id),
      () => bob.runs.delete(thread_id, run.run_id),
      () => bob.runs.join(thread_id, run.run_id),
      () => bob.runs.cancelMany({ runIds: [run.run_id] }),
      () => bob.runs.create(thread_id, "script", { input: human("do it"), multitaskStrategy: "rollback" }),
      () => bob.runs.create(thread_id, "script", { input: human("do it"), ifNotExists: "create" }),
    ]) {
      await expect(act()).rejects.toThrow("HTTP 404");
    }
    await bob.runs.cancelMany({ status: "all" });
    expect((await ann.runs.get(thread_id, run.run_id)).status).toBe("running");
    openGate("guarded");
    expect(lastText(await ann.runs.join(thread_id, run.run_id))).toBe("1 waited");
    const shown = (await ann.runs.get(thread_id, run.run_id)) as unknown as { kwargs: object };
    expect(JSON.stringify(shown.kwargs)).toContain('"langgraph_auth_user_id":"ann"');
    expect(JSON.stringify(shown.kwargs)).not.toContain('"langgraph_auth_user":');
  });

  it("give each sender idempotency keys of his own", async () => {
    const make = async (name: keyof typeof KEYS, text: string) => {
      const response = await fetch(`${guarded.url}/runs`, {
        method: "POST",
        headers: { "content-type": "application/json", "x-api-key": KEYS[name], "idempotency-key": "one" },
        body: JSON.stringify({ assistant_id: "script", input: human(text) }),
      });
      expect(response.status).toBe(200);
      return ((await response.json()) as { run_id: string }).run_id;
    };
    const first = await make("ann", "do a");
    expect(await make("bob", "do b")).not.toBe(first);
    expect(await make("ann", "do a")).toBe(first);
  });
});

describe("whoever waits for a run that is removed", () => {
  it.each([
    ["with its thread", ({ thread_id }: Named) => heddle.client.threads.delete(thread_id)],
    ["alone", ({ thread_id, run_id }: Named) => heddle.client.runs.delete(thread_id, run_id)],
    [
      "by a rollback",
      ({ thread_id, run_id }: Named) => heddle.client.runs.cancel(thread_id, run_id, true, "rollback"),
    ],
  ])("%s hears of it in words", async (_how, remove) => {
    const threadId = await newThread();
    const gate = `removed-${threadId}`;
    const run = await background(threadId, `wait ${gate}`);
    await gateReached(gate);
    const joined = request("GET", `/threads/${threadId}/runs/${run.run_id}/join`);
    const answer = await joined;
    await remove(run);
    expect(await answer.json()).toEqual({
      __error__: { error: "RunDeleted", message: expect.stringMatching(/deleted or rolled back/) },
    });
    openGate(gate);
  });
});
