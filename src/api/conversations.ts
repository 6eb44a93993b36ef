// Routes of a thread's conversation and of the states of its messages: our own, beside the LangGraph API (document 002).
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Conversations } from "../conversations/conversations.ts";
import { ifMatch } from "./if-match.ts";
import { threadParams } from "./schemas/common.ts";
import { messageParams, patchConversationBody } from "./schemas/conversations.ts";

interface ConversationRoutes {
  readonly conversations: Conversations;
}

const config = { errors: "json" } as const;
const toTag = (version: number) => `"${version}"`;

export function conversationRoutes(server: FastifyInstance, { conversations }: ConversationRoutes): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  app.get(
    "/threads/:thread_id/conversation",
    { config, schema: { params: threadParams } },
    async ({ access, params: { thread_id } }, reply) => {
      const scope = await access.check("threads", "read", { thread_id });
      const conversation = await conversations.get(thread_id, scope);
      reply.header("etag", toTag(conversation.version));
      return conversation;
    },
  );

  app.patch(
    "/threads/:thread_id/conversation",
    { config, schema: { params: threadParams, body: patchConversationBody } },
    async ({ access, headers, params: { thread_id }, body: { values } }, reply) => {
      const versions = ifMatch(headers["if-match"]);
      const scope = await access.check("threads", "update", { thread_id, values });
      const { version, state_id } = await conversations.patch(thread_id, { values, versions, scope });
      reply.header("etag", toTag(version));
      return { thread_id, state_id, version };
    },
  );

  app.get(
    "/threads/:thread_id/messages/:message_id/state",
    { config, schema: { params: messageParams } },
    async ({ access, params: { thread_id, message_id } }, reply) => {
      const scope = await access.check("threads", "read", { thread_id });
      const state = await conversations.getMessage(thread_id, message_id, scope);
      reply.header("etag", toTag(state.version));
      return state;
    },
  );
}
