import { ToolMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { createTestAgent, THREAD } from "../../test/helpers/test-agent.ts";
import { defineTool, type ToolContext } from "./define-tool.ts";

const schema = z.object({ word: z.string(), times: z.number().default(2) });

it("gives the function its arguments, checked and completed, and its context", async () => {
  const run = vi.fn(async (_args: z.output<typeof schema>, _context: ToolContext) => "done");
  const tool = defineTool({ name: "repeat", description: "Repeats.", schema, run });
  const agent = createTestAgent({
    middleware: [],
    tools: [tool],
    script: [{ tool_calls: [{ name: "repeat", args: { word: "a" }, id: "call_7" }] }, "ok"],
  });
  const { messages } = (await agent.turn("go")) as unknown as { messages: ToolMessage[] };
  expect(messages.at(-2)).toMatchObject({ content: "done", tool_call_id: "call_7", name: "repeat" });
  const [args, context] = run.mock.calls[0] ?? [];
  expect(args).toEqual({ word: "a", times: 2 });
  expect(context).toMatchObject({ threadId: THREAD, toolCallId: "call_7" });
  expect(Array.isArray(context?.state.messages)).toBe(true);
});

it("writes an update into the state, with the message that answers the call", async () => {
  const tool = defineTool({
    name: "show",
    description: "Shows.",
    schema,
    run: async () => ({ content: "shown", update: { artifacts: ["/mnt/user-data/outputs/a"] } }),
  });
  const call = { type: "tool_call" as const, name: "show", id: "call_1", args: { word: "a" } };
  const result: unknown = await tool.invoke(call, { configurable: { thread_id: "t" } });
  if (!isCommand(result)) return expect.unreachable();
  expect(result.update).toMatchObject({ artifacts: ["/mnt/user-data/outputs/a"] });

  const agent = createTestAgent({
    middleware: [],
    tools: [tool],
    script: [{ tool_calls: [{ name: "show", args: { word: "a" } }] }, "ok"],
  });
  const state = await agent.turn("go");
  expect(state.artifacts).toEqual(["/mnt/user-data/outputs/a"]);
  const messages = (state as unknown as { messages: unknown[] }).messages;
  expect(messages.filter(ToolMessage.isInstance).map((message) => message.text)).toEqual(["shown"]);
});

it("refuses arguments that do not fit, and runs without a thread, before the function is called", async () => {
  const run = vi.fn(async () => "done");
  const tool = defineTool({ name: "repeat", description: "Repeats.", schema, run });
  const config = { configurable: { thread_id: "t" } };
  await expect(tool.invoke({ times: 1 }, config)).rejects.toThrow(/word/);
  await expect(tool.invoke({ word: "a" })).rejects.toThrow(/thread_id/);
  expect(run).not.toHaveBeenCalled();
});

it("passes the run's signal and its stream", async () => {
  const controller = new AbortController();
  const tool = defineTool({
    name: "tell",
    description: "Tells.",
    schema,
    run: async (_args, { writer, signal }) => {
      writer?.({ told: signal !== undefined });
      return "told";
    },
  });
  const agent = createTestAgent({
    middleware: [],
    tools: [tool],
    script: [{ tool_calls: [{ name: "tell", args: { word: "a" } }] }, "ok"],
  });
  const chunks = await agent.stream("go", "custom", { signal: controller.signal });
  expect(chunks).toEqual([{ told: true }]);
});
