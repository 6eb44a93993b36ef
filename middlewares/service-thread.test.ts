import { AIMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { expect, test } from "vitest";
import { z } from "zod";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createServiceThread } from "./service-thread.ts";

const look = tool(() => "seen", {
  name: "look",
  description: "Looks.",
  schema: z.object({ at: z.number() }),
});
const response = (id: string, fields: ConstructorParameters<typeof AIMessage>[0] & object) => ({
  message: new AIMessage({ id: `m-${id}`, response_metadata: { id }, ...(fields as object), content: "x" }),
});
const on = (thread_id: string, service_thread_id: string) => ({
  configurable: { thread_id, session_id: "s", service_thread_id },
});

test("each request names the response before and has only what came since; the next run goes on from the last", async () => {
  const calls = [{ id: "c", name: "look", args: { at: 1 }, type: "tool_call" as const }];
  const { model, turn } = createTestAgent({
    middleware: [createServiceThread()],
    tools: [look],
    script: [
      response("resp_1", { content: "", tool_calls: calls }),
      response("resp_2", { content: "" }),
      response("resp_3", { content: "" }),
    ],
  });
  await turn("look", on("one", "resp_0"));
  await turn("and now?", on("two", "resp_0"));
  const seen = model.requests.map(({ messages, options }) => [
    options.previous_response_id,
    messages.map(({ type, text }) => `${type}: ${text}`),
  ]);
  expect(seen).toEqual([
    ["resp_0", ["human: look"]],
    ["resp_1", ["tool: seen"]],
    ["resp_2", ["human: and now?"]],
  ]);
});

test("a conversation of the provider keeps its id", async () => {
  const { model, turn } = createTestAgent({ middleware: [createServiceThread()], script: ["a", "b"] });
  await turn("1", on("same", "conv_1"));
  await turn("2", on("same", "conv_1"));
  expect(model.requests.map(({ options }) => options.conversation)).toEqual(["conv_1", "conv_1"]);
  expect(model.requests[1]?.messages.map(({ text }) => text)).toEqual(["2"]);
});

test("an endpoint without a Responses API is told apart, and a run without a session is left alone", async () => {
  const { model, turn } = createTestAgent({ middleware: [createServiceThread()], script: ["a", "b"] });
  await expect(turn("1", on("one", "resp_0"))).rejects.toThrow("no Responses API");
  await turn("2", { configurable: { thread_id: "two" } });
  expect(model.requests[1]?.options).not.toHaveProperty("previous_response_id");
});
