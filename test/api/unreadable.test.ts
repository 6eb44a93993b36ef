// Input that a graph's reducers do not take: the run fails, and the thread works as if it had not been.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human } from "../helpers/sdk.ts";

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp();
});
afterAll(() => heddle.close());

/** LangGraph can make no message of this. */
const NO_MESSAGES = { messages: [{ role: "tool", content: {} }] };

const post = (route: string, body: object) =>
  fetch(heddle.url + route, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

describe.each([
  ["the input", { input: NO_MESSAGES }],
  ["the update of a command", { command: { update: NO_MESSAGES } }],
])("a run whose messages are none, in %s", (_name, payload) => {
  it("fails with the reason, and leaves a thread that can be read, changed and run", async () => {
    const { client } = heddle;
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "echo", { input: human("before") });
    const response = await post(`/threads/${thread_id}/runs/wait`, { assistant_id: "echo", ...payload });
    expect(await response.json()).toMatchObject({
      __error__: { message: expect.stringMatching("coerce message") },
    });
    expect((await client.threads.get(thread_id)).values).toMatchObject({ messages: { length: 2 } });
    expect((await client.threads.getState(thread_id)).values).toMatchObject({ messages: { length: 2 } });
    expect((await client.threads.getHistory(thread_id)).length).toBeGreaterThan(0);
    expect(await client.threads.search({ ids: [thread_id] })).toHaveLength(1);
    await client.threads.updateState(thread_id, { values: human("changed"), asNode: "echo" });
    const values = await client.runs.wait(thread_id, "echo", { input: human("after") });
    expect(values).toMatchObject({ messages: { length: 5 } });
  });
});

it("an update of the state whose messages are none is refused", async () => {
  const { thread_id } = await heddle.client.threads.create();
  await heddle.client.runs.wait(thread_id, "echo", { input: human("before") });
  const response = await post(`/threads/${thread_id}/state`, { values: NO_MESSAGES, as_node: "echo" });
  expect(await response.text()).toMatch(/coerce message/);
  expect(response.status).toBe(422);
  const state = await heddle.client.threads.getState(thread_id);
  expect(state.values).toMatchObject({ messages: { length: 2 } });
});
