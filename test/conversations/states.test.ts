// Document 002: its examples and patterns as a graph, on a server and without one; both states over HTTP.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { conversationOf } from "../../src/kit/conversation.ts";
import { fallback, graph } from "../fixtures/conversations/iteration.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { Caller } from "../helpers/belongings.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { human, lastText } from "../helpers/sdk.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/conversations/langgraph.json");

let heddle: TestApp;
let caller: Caller;
beforeAll(async () => {
  heddle = await startApp({ graphs });
  caller = new Caller(heddle.url, {});
});
afterAll(() => heddle.close());

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const conversation = (threadId: string) => `/threads/${threadId}/conversation`;
// biome-ignore lint/suspicious/noExplicitAny: a test reads what it has asked for.
const get = async (place: string): Promise<any> => (await caller.send("GET", place)).json();

const LEARNED = {
  objective: "Investigate CR mechanisms",
  currentObjective: "Validate it",
  currentLevel: 1,
  uploadedDatasets: [{ id: "data.csv", filename: "data.csv", description: "What data.csv holds" }],
  plan: ["LITERATURE-1", "LITERATURE-2", "ANALYSIS-1", "ANALYSIS-2"].map((id) => ({
    id,
    type: id.split("-")[0],
    objective: `Investigate CR mechanisms (${id.at(-1)})`,
    level: 1,
    reasoning: [`thinking of ${id}`],
    output: `found for ${id}`,
  })),
  keyInsights: ["LITERATURE-1", "LITERATURE-2", "ANALYSIS-1", "ANALYSIS-2"].map((id) => `insight of ${id}`),
  methodology: "By 4 tasks",
  conversationTitle: "It follows",
  discoveries: [
    {
      claim: "A claim",
      evidence: ["LITERATURE-1", "LITERATURE-2", "ANALYSIS-1", "ANALYSIS-2"].map((taskId) => ({ taskId })),
    },
  ],
};

describe("an iteration of research (agents return data, the caller updates)", () => {
  it("leaves what it has learned in the conversation, and what the message needed in its own state", async () => {
    const threadId = await newThread();
    const input = { messages: [{ role: "user", content: LEARNED.objective, id: "question-1" }] };
    const values = await heddle.client.runs.wait(threadId, "iteration", { input });
    const { values: learned, version } = await get(conversation(threadId));
    expect(learned).toEqual({
      ...LEARNED,
      currentHypothesis: expect.stringContaining("It follows from found"),
    });
    // Each update of the example is one change, those of four tasks that think and answer eight.
    expect(version).toBe(3 + 8 + 3);
    const message = await get(`/threads/${threadId}/messages/question-1/state`);
    expect(message.values).toEqual({
      messageId: "question-1",
      conversationId: threadId,
      source: "api",
      isDeepResearch: false,
      finalResponse: lastText(values),
      steps: Object.fromEntries(
        ["FILE_UPLOAD", "PLANNING", ...LEARNED.plan.map(({ id }) => id)].map((name) => [
          name,
          { start: expect.any(Number), end: expect.any(Number) },
        ]),
      ),
    });
    expect(learned).not.toHaveProperty("finalResponse");
  });

  it("grows over iterations: insights stay, each once, and the plan is the newest", async () => {
    const threadId = await newThread();
    for (const objective of ["First", "Second"]) {
      await heddle.client.runs.wait(threadId, "iteration", { input: human(objective) });
    }
    const { values } = await get(conversation(threadId));
    expect(values.keyInsights).toEqual(LEARNED.keyInsights);
    expect(values.plan.map((task: { objective: string }) => task.objective)).toContain("Second (1)");
    const states = await Promise.all(
      (await heddle.client.runs.list(threadId)).map(({ run_id }) =>
        get(`/threads/${threadId}/messages/${run_id}/state`),
      ),
    );
    expect(new Set(states.map((state) => state.values.messageId)).size).toBe(2);
  });

  it("is the same where no server runs the graph", async () => {
    const threadId = await newThread();
    await heddle.client.runs.wait(threadId, "iteration", { input: human("Why?") });
    const config = { configurable: { thread_id: threadId } };
    await graph.invoke(human("Why?"), config);
    expect(await conversationOf(config, fallback).read()).toEqual({
      values: (await get(conversation(threadId))).values,
      version: 14,
    });
  });
});

describe("the state of a message", () => {
  it("is there from the start of the message, and has its steps while they are under way", async () => {
    const threadId = await newThread();
    const run = await heddle.client.runs.create(threadId, "deeds", {
      input: human("wait message-gate"),
      metadata: { source: "test", isDeepResearch: true },
    });
    await gateReached("message-gate");
    const place = `/threads/${threadId}/messages/${run.run_id}/state`;
    expect(await get(place)).toMatchObject({
      thread_id: threadId,
      state_id: run.run_id,
      version: 2,
      values: {
        messageId: run.run_id,
        source: "test",
        isDeepResearch: true,
        steps: { waiting: { start: expect.any(Number) } },
      },
    });
    openGate("message-gate");
    await heddle.client.runs.join(threadId, run.run_id);
    expect((await get(place)).values.steps.waiting.end).toEqual(expect.any(Number));
  });

  it("is not found on another thread, nor for a message that there is none of", async () => {
    const threadId = await newThread();
    const input = { messages: [{ role: "user", content: "x", id: "elsewhere" }] };
    await heddle.client.runs.wait(threadId, "deeds", { input });
    for (const place of [
      `/threads/${await newThread()}/messages/elsewhere/state`,
      `/threads/${threadId}/messages/none/state`,
    ]) {
      const response = await caller.send("GET", place);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: "message_state_not_found" } });
    }
  });
});

describe("a conversation", () => {
  it("that nobody has changed is empty, at version 0; one of no thread is not found", async () => {
    const response = await caller.send("GET", conversation(await newThread()));
    expect(response.headers.get("etag")).toBe('"0"');
    expect(await response.json()).toMatchObject({ values: { objective: "" }, version: 0, state_id: null });
    for (const [method, body] of [["GET"], ["PATCH", { values: { objective: "x" } }]] as const) {
      const missing = await caller.send(method, conversation(crypto.randomUUID()), body);
      expect(missing.status).toBe(404);
      expect(await missing.json()).toMatchObject({ error: { code: "thread_not_found" } });
    }
  });

  it("is patched key by key, and says its new version", async () => {
    const place = conversation(await newThread());
    const patch = (values: object) => caller.send("PATCH", place, { values });
    await patch({ objective: "Why?", keyInsights: ["a"], discoveries: [{ claim: "x" }], methodology: "m" });
    const response = await patch({
      keyInsights: ["a", "b"],
      discoveries: [{ claim: "x", evidence: [] }, { claim: "x" }],
      methodology: null,
      researchMode: "steering",
    });
    expect(response.headers.get("etag")).toBe('"2"');
    expect(await response.json()).toMatchObject({ version: 2, state_id: expect.any(String) });
    expect((await get(place)).values).toEqual({
      objective: "Why?",
      keyInsights: ["a", "b"],
      discoveries: [{ claim: "x" }, { claim: "x", evidence: [] }],
      researchMode: "steering",
    });
  });

  it.each([
    [{ keyInsight: ["a"] }, "keyInsight"],
    [{ currentLevel: "2" }, "values.currentLevel"],
    [{ discoveries: [{ evidence: [] }] }, "values.discoveries.0.claim"],
    [{ deepResearchRun: { isRunning: false } }, "values.deepResearchRun"],
  ])("refuses %j with 422, names the key and changes nothing", async (values, named) => {
    const place = conversation(await newThread());
    const response = await caller.send("PATCH", place, { values: { objective: "x", ...values } });
    expect(response.status).toBe(422);
    const { error } = (await response.json()) as { error: { code: string; details: string[] } };
    expect(error.code).toBe("invalid_request");
    expect(error.details.join()).toContain(named);
    expect((await get(place)).version).toBe(0);
  });

  it("answers a stale version with 412 and the current one; of two who have read the same, one is first", async () => {
    const threadId = await newThread();
    const patch = (tag: string, objective: string) =>
      fetch(heddle.url + conversation(threadId), {
        method: "PATCH",
        headers: { "content-type": "application/json", "if-match": tag },
        body: JSON.stringify({ values: { objective } }),
      });
    expect((await patch('"1"', "too early")).status).toBe(412);
    const both = await Promise.all([patch('"0"', "a"), patch('"0"', "b")]);
    expect(both.map(({ status }) => status).sort()).toEqual([200, 412]);
    const stale = both.find(({ status }) => status === 412);
    expect(stale?.headers.get("etag")).toBe('"1"');
    expect(await stale?.json()).toMatchObject({
      error: { code: "version_conflict", details: { version: 1 } },
    });
    expect((await patch('"0", "1"', "c")).headers.get("etag")).toBe('"2"');
    expect((await patch("2", "no tag")).status).toBe(422);
  });

  it("goes with its thread, and what it has learned goes into a copy", async () => {
    const threadId = await newThread();
    await heddle.client.runs.wait(threadId, "deeds", { input: human("insight lasting") });
    const { thread_id: copy } = await heddle.client.threads.copy(threadId);
    await heddle.client.threads.delete(threadId);
    expect((await caller.send("GET", conversation(threadId))).status).toBe(404);
    expect(await get(conversation(copy))).toMatchObject({ values: { keyInsights: ["lasting"] }, version: 1 });
    const rows = await heddle.database.db.query(
      `select 1 from heddle.conversation_states where conversation_id = $1::uuid
       union all select 1 from heddle.states where conversation_id = $1::uuid
       union all select 1 from heddle.notifications where conversation_id = $1::uuid`,
      [threadId],
    );
    expect(rows).toEqual([]);
  });

  it("puts off the end of a thread that is kept for a time", async () => {
    const threadId = await newThread();
    const { db } = heddle.database;
    await caller.send("PATCH", `/threads/${threadId}`, { ttl: 60 });
    await db.query("update heddle.threads set delete_after = now() where thread_id = $1::uuid", [threadId]);
    await caller.send("PATCH", conversation(threadId), { values: { objective: "still of use" } });
    expect(
      await db.query("select delete_after > now() as later from heddle.threads where thread_id = $1::uuid", [
        threadId,
      ]),
    ).toEqual([{ later: true }]);
  });

  it("tells a graph what is wrong with its patch", async () => {
    const threadId = await newThread();
    await expect(heddle.client.runs.wait(threadId, "deeds", { input: human("wrong x") })).rejects.toThrow(
      "keyInsight",
    );
  });
});
