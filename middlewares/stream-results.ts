// Streams each tool message as soon as the tool has ended. LangGraph.js shows none in its `messages` stream when the
// tool also writes state (write_todos, view_image, present_files, the first bash), nor when another tool of the same
// turn does, and the rest only when the slowest of them is done.
import { randomUUID } from "node:crypto";
import { ToolMessage } from "@langchain/core/messages";
import { isCommand, pushMessage } from "@langchain/langgraph";
import { createMiddleware } from "langchain";

export function createStreamResults() {
  return createMiddleware({
    name: "stream-results",
    wrapToolCall: async (request, handler) => {
      const result = await handler(request);
      const update = isCommand(result) ? result._updateAsTuples() : [["messages", result] as const];
      for (const message of update.flatMap(([key, value]) => (key === "messages" ? value : []))) {
        if (!ToolMessage.isInstance(message)) continue;
        // The id that it will have in the state: by it a client knows the message again, and LangGraph that it is out.
        message.id ??= randomUUID();
        message.lc_kwargs.id = message.id;
        pushMessage(message, { stateKey: null });
      }
      return result;
    },
  });
}
