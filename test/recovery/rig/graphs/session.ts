// An agent that goes on with a session: LangChain's, with Heddle's chat history, and a tool.
import { tool } from "@langchain/core/tools";
import { createAgent, type ToolRuntime } from "langchain";
import { z } from "zod";
import { createChatHistory } from "../../../../middlewares/chat-history.ts";
import { toEffect } from "../reply.ts";
import { model } from "./rig-model.ts";

const effect = tool(
  (_, { state }: ToolRuntime) => {
    const { messages } = state as { messages: readonly { type: string; text: string }[] };
    return toEffect(messages.findLast(({ type }) => type === "human")?.text ?? "");
  },
  { name: "effect", description: "Does something.", schema: z.object({}) },
);

export const graph = createAgent({
  model,
  tools: [effect],
  middleware: [createChatHistory()],
  contextSchema: z.looseObject({ session_id: z.string().optional() }),
}).graph;
