import { ToolMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { createTestAgent, THREAD } from "../../test/helpers/test-agent.ts";
import { defineTool, type ToolContext } from "./define-tool.ts";
import { ThreadState } from "./thread-state.ts";

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
  const { messages: before } = (context?.state ?? {}) as { messages: unknown[] };
  before.push("mine");
  expect(context?.state.messages).toHaveLength(before.length - 1);
});

it("writes an update into the state, with the message that answers the call", async () => {
  const tool = defineTool({
    name: "show",
    description: "Shows.",
    schema,
    state: ThreadState,
    outputsToState: { artifacts: {} },
    run: async () => ["/mnt/user-data/outputs/a"],
    toContent: () => "shown",
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

it("refuses arguments that do not fit before the function is called", async () => {
  const run = vi.fn(async () => "done");
  const tool = defineTool({ name: "repeat", description: "Repeats.", schema, run });
  await expect(tool.invoke({ times: 1 })).rejects.toThrow(/word/);
  expect(run).not.toHaveBeenCalled();
  expect(await tool.invoke({ word: "a" })).toBe("done");
});

it("needs a thread only for a tool that asks for it", async () => {
  const run = async (_args: unknown, { threadId }: ToolContext) => threadId;
  const tool = defineTool({ name: "where", description: "Says where.", schema: z.object({}), run });
  expect(await tool.invoke({}, { configurable: { thread_id: "t" } })).toBe("t");
  await expect(tool.invoke({})).rejects.toThrow(/thread_id/);
});

it.each([
  ["text", "as it is", "as it is"],
  ["a number", 120, "120"],
  ["an object", { result: 42 }, '{"result":42}'],
  ["a list of blocks", [{ type: "text", text: "a" }], '[{"type":"text","text":"a"}]'],
  ["an empty list", [], "[]"],
  ["null", null, "null"],
  ["nothing", undefined, ""],
  [
    "what looks like an update",
    { content: "x", update: { title: "y" } },
    '{"content":"x","update":{"title":"y"}}',
  ],
])("tells the model %s, from a function that is sync or async", async (_what, result, content) => {
  for (const run of [() => result, async () => result]) {
    const tool = defineTool({ name: "give", description: "Gives.", schema: z.object({}), run });
    const call = { type: "tool_call" as const, name: "give", id: "call_1", args: {} };
    expect(await tool.invoke(call)).toMatchObject({ content, tool_call_id: "call_1" });
  }
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
