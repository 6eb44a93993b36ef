// The conversation of one agent: kept by the model's provider, by whose id it is found there, or by a message store of
// ours; never both (document 003 §2). The names are the document's.
import type { BaseMessage } from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../errors.ts";
import type { ChatMessageStore, StoreState } from "./chat-message-store.ts";
import { createMemoryMessageStores } from "./memory-message-stores.ts";

/** The document's JSON: one of the two is null. */
export interface AgentThreadState {
  readonly service_thread_id: string | null;
  readonly chat_message_store_state: StoreState | null;
}

export interface AgentThread {
  /** What the provider calls the conversation; undefined for a thread with a message store. */
  readonly service_thread_id: string | undefined;
  /** Undefined for a thread that the provider keeps. */
  readonly message_store: ChatMessageStore | undefined;
  /** What has been said since: to be called with every message, also of tools. Does nothing where the provider keeps them. */
  on_new_messages(messages: readonly BaseMessage[]): Promise<void>;
  /** The provider's newest id. @throws AppError invalid_request when a message store has the thread */
  move_service_thread(id: string): Promise<void>;
  serialize(): Promise<AgentThreadState>;
  /** Takes over what `serialize` gave. @throws AppError invalid_request, and then nothing has changed */
  deserialize(state: unknown): Promise<void>;
}

interface AgentThreadOptions {
  readonly service_thread_id?: string | undefined;
  readonly message_store?: ChatMessageStore | undefined;
  /** Keeps the provider's newest id. */
  readonly onServiceThread?: (id: string) => Promise<void>;
}

const BOTH_KINDS =
  "A thread is kept by the model's provider (service_thread_id) or by a message store, never by both. To go from one to the other, begin a new thread.";

const shape = z.looseObject({
  service_thread_id: z.string().min(1).max(255).nullish(),
  chat_message_store_state: z.unknown().optional(),
});

/**
 * Without either, the messages are kept in memory.
 * @throws AppError invalid_request when it gets both
 */
export function createAgentThread(options: AgentThreadOptions = {}): AgentThread {
  const { onServiceThread } = options;
  if (options.service_thread_id !== undefined && options.message_store !== undefined) throw bothKinds();
  let serviceId = options.service_thread_id;
  let store = options.message_store;
  // Nobody has said which of the two it is to be: the first that is taken over, or added, does.
  let isUndecided = serviceId === undefined && store === undefined;
  if (isUndecided) store = createMemoryMessageStores()("");

  return {
    get service_thread_id() {
      return serviceId;
    },
    get message_store() {
      return store;
    },
    async on_new_messages(messages) {
      isUndecided = false;
      await store?.add_messages(messages);
    },
    async move_service_thread(id) {
      if (serviceId === undefined) throw bothKinds();
      if (id !== serviceId) await onServiceThread?.(id);
      serviceId = id;
    },
    serialize: async () => ({
      service_thread_id: serviceId ?? null,
      chat_message_store_state: (await store?.serialize_state()) ?? null,
    }),
    async deserialize(state) {
      const { service_thread_id: id, chat_message_store_state: messages } = readAgentThreadState(state);
      if (id !== null) {
        if (serviceId === undefined && !isUndecided) throw bothKinds();
        await onServiceThread?.(id);
        serviceId = id;
        store = undefined;
      }
      if (messages !== null) {
        if (store === undefined) throw bothKinds();
        await store.deserialize_state(messages);
      }
      isUndecided = false;
    },
  };
}

/** @throws AppError invalid_request when it is not of the document's form, or of both kinds at once */
export function readAgentThreadState(state: unknown): {
  readonly service_thread_id: string | null;
  readonly chat_message_store_state: unknown;
} {
  const { success, data, error } = shape.safeParse(state);
  if (!success) {
    const [issue] = error.issues;
    const where = issue?.path.join(".") || "it";
    throw new AppError("invalid_request", `The state of a thread is broken: ${where}: ${issue?.message}.`);
  }
  const { service_thread_id: id = null, chat_message_store_state: messages = null } = data;
  if (id !== null && messages !== null) throw bothKinds();
  return { service_thread_id: id, chat_message_store_state: messages };
}

export const bothKinds = () => new AppError("invalid_request", BOTH_KINDS);
