// Under which id what a model has said stays in a thread.
import { randomUUID } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";

/**
 * That of the streamed message, so that clients put the one in the other's place. A new one where it has none, or one that
 * the thread has already: some endpoints give all their answers the same, and one would replace the other.
 */
export const toMessageId = (id: string | undefined, thread: readonly BaseMessage[]): string =>
  !id || thread.some((message) => message.id === id) ? randomUUID() : id;
