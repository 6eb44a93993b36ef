// A session that the model's provider keeps (`service_thread_id`, document 003 §2.1): the Responses API is sent what is new
// since its last response, and the id of that, or of its conversation, instead of what was said before.
import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";
import { z } from "zod";
import { createMemorySessions, type OpenSession, sessionOf } from "#kit";

interface ServiceThreadOptions {
  /** Opens the sessions of runs that no server has given one: in memory by default. */
  readonly openSession?: OpenSession | undefined;
}

/** A hook sees only the settings that it declares. */
const contextSchema = z.object({
  session_id: z.string().nullish(),
  message_store: z.string().nullish(),
  service_thread_id: z.string().nullish(),
});

export function createServiceThread({ openSession = createMemorySessions() }: ServiceThreadOptions = {}) {
  return createMiddleware({
    name: "service-thread",
    contextSchema,
    wrapModelCall: async (request, handler) => {
      const thread = await sessionOf(request.runtime, openSession);
      const id = thread?.service_thread_id;
      if (!thread || id === undefined) return handler(request);
      const reply = await handler({
        ...request,
        messages: sinceLastReply(request.messages),
        modelSettings: { ...request.modelSettings, ...toSettings(id) },
      });
      if (AIMessage.isInstance(reply) && !isConversation(id)) {
        const { id: next } = reply.response_metadata;
        if (typeof next !== "string" || !next.startsWith("resp")) {
          throw new Error(
            "The model's endpoint has no Responses API: it cannot go on with a service_thread_id.",
          );
        }
        await thread.move_service_thread(next);
      }
      return reply;
    },
  });
}

const isConversation = (id: string) => id.startsWith("conv");

/** A conversation keeps its id, a response names the one before. `include` makes LangChain take the Responses API. */
const toSettings = (id: string) =>
  isConversation(id) ? { conversation: id, include: [] } : { previous_response_id: id };

function sinceLastReply(messages: readonly BaseMessage[]): BaseMessage[] {
  return messages.slice(messages.findLastIndex((message) => AIMessage.isInstance(message)) + 1);
}
