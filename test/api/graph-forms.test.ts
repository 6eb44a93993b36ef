// What langgraph.json may name: each form of an export, what a factory is told, and graphs that cannot be loaded.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human, lastText } from "../helpers/sdk.ts";

const FIXTURES = path.resolve(import.meta.dirname, "../fixtures/graphs-forms/langgraph.json");
let heddle: TestApp;

beforeAll(async () => {
  process.env.HEDDLE_TEST_SET = "from outside";
  heddle = await startApp({ graphs: FIXTURES });
});
afterAll(async () => {
  await heddle.close();
  delete process.env.HEDDLE_TEST_SET;
  delete process.env.HEDDLE_TEST_GREETING;
});

describe("a graph", () => {
  it.each(["compiled", "builder", "promised"])("may be exported as what is here called %s", async (form) => {
    expect(await heddle.client.runs.wait(null, form, { input: {} })).toEqual({
      form,
      greeting: "from langgraph.json",
    });
  });

  it("may be an agent of createAgent", async () => {
    expect(lastText(await heddle.client.runs.wait(null, "agent", { input: human("hi") }))).toBe("said");
  });

  it("may be made by a factory, which hears the configuration and what it is wanted for", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const run = { input: {}, config: { configurable: { tone: "low" } }, context: { user: "ada" } };
    expect(await heddle.client.runs.wait(thread_id, "made", run)).toEqual({
      seen: {
        tone: "low",
        runtime: { accessContext: "threads.create_run", executionRuntime: { context: { user: "ada" } } },
      },
    });
    // For the state it is made as it was for the run.
    const state = await heddle.client.threads.getState(thread_id);
    expect(state.values).toMatchObject({ seen: { tone: "low" } });
  });
});

it("finds in the environment what langgraph.json says, but what is set stays", () => {
  expect(process.env.HEDDLE_TEST_GREETING).toBe("from langgraph.json");
  expect(process.env.HEDDLE_TEST_SET).toBe("from outside");
});

describe("a graph that cannot be loaded", () => {
  const REASONS = {
    gone: 'Graph "gone": there is no file ./gone.ts',
    thrower: 'Graph "thrower" cannot be imported: no luck today in ./broken/thrower.ts',
    unresolved: expect.stringMatching(/^Graph "unresolved" cannot be imported: .*nowhere/),
    misnamed:
      'Graph "misnamed" has no export "nothing"; the file exports builder, compiled, number, promised',
    number: 'Graph "number": the export "number" is not a graph',
    rejected: 'Graph "rejected": the promise that "graph" is was rejected: the model is away',
    uncompilable: expect.stringMatching(/^Graph "uncompilable": it cannot be compiled: /),
  };
  const post = (route: string, body: object) =>
    fetch(`${heddle.url}${route}`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });

  it("is named in /info with file and reason, and the others are served", async () => {
    const info = (await (await fetch(`${heddle.url}/info`)).json()) as {
      heddle: { graphs: string[]; failed_graphs: { id: string; file: string; reason: string }[] };
    };
    expect(info.heddle.graphs).toEqual([
      "compiled",
      "builder",
      "promised",
      "agent",
      "made",
      "sloppy",
      "picky",
    ]);
    expect(Object.fromEntries(info.heddle.failed_graphs.map(({ id, reason }) => [id, reason]))).toEqual(
      REASONS,
    );
    expect(info.heddle.failed_graphs.map(({ file }) => file)).toContain("./broken/thrower.ts");
    expect(JSON.stringify(info)).not.toContain(path.dirname(FIXTURES));
    expect(heddle.app.failedGraphs).toEqual(info.heddle.failed_graphs);
  });

  it.each(Object.entries(REASONS))("tells whoever runs it why: %s", async (graph, reason) => {
    const response = await post("/runs/wait", { assistant_id: graph, input: {} });
    expect(response.status).toBe(409);
    expect(await response.text()).toEqual(reason);
  });

  it("still has an assistant that can be looked at, and none can be made of it", async () => {
    expect(await heddle.client.assistants.get("thrower")).toMatchObject({ graph_id: "thrower" });
    const response = await post("/assistants", { graph_id: "thrower" });
    expect(response.status).toBe(409);
    expect(await response.text()).toMatch(/no luck today/);
  });

  it("tells whoever reads or changes the state of its threads why; they are found and deleted like others", async () => {
    const { thread_id } = await heddle.client.threads.create({ graphId: "thrower" });
    const place = `${heddle.url}/threads/${thread_id}`;
    for (const answer of [
      fetch(`${place}/state`),
      fetch(`${place}/history`),
      post(`/threads/${thread_id}/state`, { values: {}, as_node: "a" }),
    ]) {
      const response = await answer;
      expect([response.status, await response.text()]).toEqual([409, REASONS.thrower]);
    }
    const command = { id: 1, method: "state.get" };
    expect(await (await post(`/threads/${thread_id}/commands`, command)).json()).toMatchObject({
      type: "error",
      message: REASONS.thrower,
    });
    const found = await heddle.client.threads.search({ ids: [thread_id] });
    expect(found.map((thread) => thread.thread_id)).toEqual([thread_id]);
    expect(await heddle.client.threads.count({ values: { a: 1 } })).toBe(0);
    await heddle.client.threads.delete(thread_id);
  });

  it("because its factory fails when its state is to be read does not keep other threads from being found", async () => {
    const { thread_id } = await heddle.client.threads.create();
    await heddle.client.runs.wait(thread_id, "made", { input: {} });
    await heddle.client.threads.update(thread_id, { metadata: { graph_id: "picky" } });
    await expect(heddle.client.threads.getState(thread_id)).rejects.toThrow(/HTTP 409: .*no tone is given/);
    const found = await heddle.client.threads.search({ ids: [thread_id] });
    expect(found.map((thread) => thread.thread_id)).toEqual([thread_id]);
  });

  it("because its factory makes something else, or fails, is the error of the run", async () => {
    expect(await (await post("/runs/wait", { assistant_id: "sloppy", input: {} })).json()).toEqual({
      __error__: {
        error: "AppError",
        message: 'The factory of graph "sloppy" did not return a graph.',
      },
    });
    expect(await (await post("/runs/wait", { assistant_id: "picky", input: {} })).json()).toEqual({
      __error__: { error: "RangeError", message: "no tone is given" },
    });
  });
});
