// Gives a run what was said in its session before (`session_id`), and keeps there what is said in it (document 003 §2): so
// that a stateless run goes on with a conversation. The earlier messages go into the model's request and not into the
// state: the run's answer is what is new. A run that fails has said nothing.
import type { BaseMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";
import { z } from "zod";
import { type AgentThread, createMemorySessions, type OpenSession, sessionOf } from "#kit";

interface ChatHistoryOptions {
  /** Opens the sessions of runs that no server has given one: in memory by default. */
  readonly openSession?: OpenSession | undefined;
}

/** A hook sees only the settings that it declares. */
const contextSchema = z.object({
  session_id: z.string().nullish(),
  message_store: z.string().nullish(),
  service_thread_id: z.string().nullish(),
});

export function createChatHistory({ openSession = createMemorySessions() }: ChatHistoryOptions = {}) {
  // What the session held when the run began: the same in all of its requests, so that their beginning stays the same.
  const earlier = new WeakMap<AgentThread, Promise<BaseMessage[]>>();
  const load = (thread: AgentThread) => {
    const messages = thread.message_store?.list_messages() ?? Promise.resolve([]);
    earlier.set(thread, messages);
    return messages;
  };
  return createMiddleware({
    name: "chat-history",
    contextSchema,
    beforeAgent: async (_state, runtime) => {
      const thread = await sessionOf(runtime, openSession);
      if (thread) await load(thread);
    },
    wrapModelCall: async (request, handler) => {
      const thread = await sessionOf(request.runtime, openSession);
      const history = thread ? await (earlier.get(thread) ?? load(thread)) : [];
      return handler({
        ...request,
        messages: [...unknownTo(request.messages, history), ...request.messages],
      });
    },
    afterAgent: async (state, runtime) => {
      const thread = await sessionOf(runtime, openSession);
      if (!thread) return;
      await thread.on_new_messages(unknownTo(await (earlier.get(thread) ?? load(thread)), state.messages));
    },
  });
}

/** A thread that keeps its state has some of its session's messages in it. */
function unknownTo(known: readonly BaseMessage[], messages: readonly BaseMessage[]): BaseMessage[] {
  const ids = new Set(known.map(({ id }) => id));
  return messages.filter(({ id }) => id === undefined || !ids.has(id));
}
