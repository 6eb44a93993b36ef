// Streams tool messages that come inside a Command. LangGraph.js shows a tool's plain message in its `messages`
// stream, but none of a tool that also writes state (write_todos, view_image, present_files, the first bash).
import { randomUUID } from "node:crypto";
import { ToolMessage } from "@langchain/core/messages";
import { isCommand, pushMessage } from "@langchain/langgraph";
import { createMiddleware } from "langchain";

export function createStreamResults() {
  return createMiddleware({
    name: "stream-results",
    wrapToolCall: async (request, handler) => {
      const result = await handler(request);
      const update = isCommand(result) ? result._updateAsTuples() : [];
      for (const message of update.flatMap(([key, value]) => (key === "messages" ? value : []))) {
        if (!ToolMessage.isInstance(message)) continue;
        // The id it will have in the state, so that a client can tell that both are the same message.
        message.id ??= randomUUID();
        message.lc_kwargs.id = message.id;
        pushMessage(message, { stateKey: null });
      }
      return result;
    },
  });
}
