import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, test } from "vitest";
import { z } from "zod";
import { ThreadState } from "#kit";
import { ScriptedModel } from "../test/helpers/scripted-model.ts";
import { createStreamResults } from "./stream-results.ts";

const schema = z.object({});
const plain = tool(() => "plain", { name: "plain", description: "Answers.", schema });
const writing = tool(
  (_input, config) =>
    new Command({
      update: {
        title: "written",
        messages: [new ToolMessage({ content: "writing", tool_call_id: config.toolCall.id })],
      },
    }),
  { name: "writing", description: "Writes state.", schema },
);

// createAgent runs the calls of a turn in one task (v1) or in a task each (v2); LangGraph's gaps differ.
test.each([
  ["v1", ["plain", "writing"]],
  ["v2", ["plain", "writing"]],
  ["v1", ["plain", "plain"]],
  ["v2", ["plain", "plain"]],
] as const)(
  "with %s, each message of %j is streamed once, with the id it has in the state",
  async (version, names) => {
    const { graph } = createAgent({
      version,
      model: new ScriptedModel([{ tool_calls: names.map((name) => ({ name })) }, "done"]),
      tools: [plain, writing],
      stateSchema: ThreadState.schema,
      middleware: [createStreamResults()],
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id: "t" } };
    const streamed: ToolMessage[] = [];
    for await (const [message] of await graph.stream(
      { messages: "go" },
      { ...config, streamMode: "messages" },
    )) {
      if (ToolMessage.isInstance(message)) streamed.push(message);
    }
    const { messages } = (await graph.getState(config)).values as unknown as ThreadState;
    const stored = messages.filter((message) => ToolMessage.isInstance(message));
    expect(stored.map(({ text }) => text)).toEqual([...names]);
    expect(streamed.map(({ id }) => id).sort()).toEqual(stored.map(({ id }) => id).sort());
  },
);
