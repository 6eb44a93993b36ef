import { expect, test } from "vitest";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createChatHistory } from "./chat-history.ts";

const read = (request?: { messages: { type: string; text: string }[] }) =>
  request?.messages.map(({ type, text }) => `${type}: ${text}`);
const on = (thread_id: string, session_id?: string) => ({
  configurable: { thread_id, ...(session_id ? { session_id } : {}) },
});

test("a run on another thread goes on with the session: the model reads what was said, the state has what is new", async () => {
  const { model, turn } = createTestAgent({
    middleware: [createChatHistory()],
    script: ["Hello Ann.", "Ann."],
  });
  await turn("I am Ann.", on("one", "s"));
  const state = await turn("Who am I?", on("two", "s"));
  expect(read(model.requests[1])).toEqual(["human: I am Ann.", "ai: Hello Ann.", "human: Who am I?"]);
  expect(state.messages.map(({ text }) => text)).toEqual(["Who am I?", "Ann."]);
});

test("on one thread the session's messages are read once, though the state has them as well", async () => {
  const { model, turn } = createTestAgent({ middleware: [createChatHistory()], script: ["a", "b", "c"] });
  await turn("1", on("same", "s"));
  await turn("2", on("other", "s"));
  await turn("3", on("same", "s"));
  expect(read(model.requests[2])).toEqual(["human: 2", "ai: b", "human: 1", "ai: a", "human: 3"]);
});

test("tool calls and their results are kept, and another session has none of it", async () => {
  const { tool } = await import("@langchain/core/tools");
  const { z } = await import("zod");
  const look = tool(() => "seen", {
    name: "look",
    description: "Looks.",
    schema: z.object({ at: z.number() }),
  });
  const { model, turn } = createTestAgent({
    middleware: [createChatHistory()],
    tools: [look],
    script: [{ tool_calls: [{ name: "look", args: { at: 1 } }] }, "done", "next", "other"],
  });
  await turn("look", on("one", "s"));
  await turn("and now?", on("two", "s"));
  expect(read(model.requests[2])).toEqual([
    "human: look",
    "ai: ",
    "tool: seen",
    "ai: done",
    "human: and now?",
  ]);
  expect(model.requests[2]?.messages[1]).toMatchObject({ tool_calls: [{ name: "look", args: { at: 1 } }] });
  expect(model.requests[2]?.messages[2]).toMatchObject({ tool_call_id: "call_0_0" });
  await turn("who?", on("three", "t"));
  expect(read(model.requests[3])).toEqual(["human: who?"]);
});

test("null is no session", async () => {
  const { model, turn } = createTestAgent({ middleware: [createChatHistory()], script: ["a", "b"] });
  const context = { session_id: null, message_store: null, service_thread_id: null };
  await turn("1", { ...on("one"), context });
  await turn("2", { ...on("two"), context });
  expect(read(model.requests[1])).toEqual(["human: 2"]);
});

test("a run that fails has said nothing, and one without a session leaves nothing", async () => {
  const script = [new Error("away"), "plain", "fine"];
  const { model, turn } = createTestAgent({ middleware: [createChatHistory()], script });
  await expect(turn("lost", on("one", "s"))).rejects.toThrow("away");
  await turn("unkept", on("two"));
  await turn("again", on("three", "s"));
  expect(read(model.requests[2])).toEqual(["human: again"]);
});

test("both kinds of session at once end the run before the model is asked", async () => {
  const { model, turn } = createTestAgent({ middleware: [createChatHistory()], script: ["never"] });
  const configurable = {
    thread_id: "x",
    session_id: "s",
    message_store: "redis",
    service_thread_id: "conv_1",
  };
  await expect(turn("hi", { configurable })).rejects.toThrow("never by both");
  expect(model.requests).toEqual([]);
});
