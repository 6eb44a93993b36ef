// Conversations of a process without a server: what a graph falls back to in Studio's dev server, in another's, in a test.
// They are gone when the process ends, and nobody is told of their changes.
import type { OpenConversation } from "./conversation.ts";
import { EMPTY_CONVERSATION, mergeValues, type StateValues, toPatchParts } from "./conversation-values.ts";
import { makeConversation, versionConflict } from "./make-conversation.ts";

/** Runs whose messages are remembered: older ones are forgotten, as a server does after their retention. */
const MESSAGES = 1_000;

/** Runs of one thread share its conversation, as long as this is kept. */
export function createMemoryConversations(): OpenConversation {
  const conversations = new Map<string, { values: typeof EMPTY_CONVERSATION; version: number }>();
  const messages = new Map<string, { values: StateValues; version: number }>();

  return ({ threadId, runId }) => {
    const conversation = () => conversations.get(threadId) ?? { values: EMPTY_CONVERSATION, version: 0 };
    const message = () =>
      messages.get(runId) ?? { values: { messageId: runId, conversationId: threadId }, version: 1 };
    const keepMessage = (values: StateValues) => {
      const version = message().version + 1;
      messages.set(runId, { values, version });
      const [oldest] = messages.keys();
      if (messages.size > MESSAGES && oldest !== undefined) messages.delete(oldest);
      return version;
    };
    return makeConversation({
      id: threadId,
      read: async () => structuredClone(conversation()),
      async write(patch, expected) {
        const { values, version } = conversation();
        if (expected !== undefined && expected !== version) throw versionConflict(version);
        const merged = structuredClone(mergeValues(values, toPatchParts(patch)));
        conversations.set(threadId, { values: merged, version: version + 1 });
        return version + 1;
      },
      readMessage: async () => structuredClone(message()),
      writeMessage: async (patch) =>
        keepMessage(structuredClone(mergeValues(message().values, toPatchParts(patch)))),
      async markStep(name, edge) {
        const { values } = message();
        const before = edge === "end" ? values.steps?.[name] : undefined;
        const step = { start: Date.now(), ...before, [edge]: Date.now() };
        keepMessage({ ...values, steps: { ...values.steps, [name]: step } });
      },
      tell: async () => undefined,
    });
  };
}
