import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { expect, test } from "vitest";
import { z } from "zod";
import { createTestAgent } from "../test/helpers/test-agent.ts";
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

test("each tool message is streamed once, with the id it has in the state", async () => {
  const agent = createTestAgent({
    middleware: [createStreamResults()],
    tools: [plain, writing],
    script: [{ tool_calls: [{ name: "plain" }, { name: "writing" }] }, "done"],
  });
  const chunks = (await agent.stream("go", "messages")) as [ToolMessage, unknown][];
  const streamed = chunks.flatMap(([message]) => (ToolMessage.isInstance(message) ? [message] : []));
  expect(streamed.map(({ text }) => text).sort()).toEqual(["plain", "writing"]);
  const { messages, title } = await agent.state();
  const stored = messages.find(({ text }) => text === "writing");
  expect(streamed.find(({ text }) => text === "writing")?.id).toBe(stored?.id);
  expect(messages.filter(({ text }) => text === "writing")).toHaveLength(1);
  expect(title).toBe("written");
});
