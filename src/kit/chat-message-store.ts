// Where the messages of one thread are kept, and what they look like as JSON: document 003 §2 and §3. The names are the
// document's, so that whoever has it before him finds them here.
import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import { AppError } from "../errors.ts";

/**
 * The messages of one thread. An instance belongs to that thread alone; two instances for the same thread, here or in
 * other processes, see the same messages. A message that is listed is as it was added: role, parts, tool calls, tool
 * results, timestamps, annotations, as far as JSON can tell them.
 */
export interface ChatMessageStore {
  /** The oldest first. The caller may change what he gets. */
  list_messages(): Promise<BaseMessage[]>;
  /**
   * Adds them after those that are there, all of them together or none; whoever adds at the same time comes before or after.
   * One whose id is there already is not added again: a step that is run once more adds once more.
   */
  add_messages(messages: readonly BaseMessage[]): Promise<void>;
  /** All of it as JSON, to be kept anywhere. */
  serialize_state(): Promise<StoreState>;
  /** Replaces what is there. @throws AppError invalid_request, and then nothing has changed */
  deserialize_state(state: unknown): Promise<void>;
}

/** What `serialize_state` gives. The version grows when the form changes, so that older ones can still be read. */
export interface StoreState {
  readonly version: 1;
  readonly messages: readonly StoredMessage[];
}

const KINDS: Readonly<Record<string, { isInstance(value: unknown): boolean }>> = {
  human: HumanMessage,
  ai: AIMessage,
  tool: ToolMessage,
  system: SystemMessage,
  function: FunctionMessage,
  generic: ChatMessage,
};

const text = z.string().nullish();
const record = z.record(z.string(), z.unknown()).nullish();

/** What LangChain and its models' adapters read without asking what it is. */
const stored = z.looseObject({
  type: z.string(),
  data: z.looseObject({
    content: z.string().or(z.array(z.string().or(z.looseObject({})))),
    id: text,
    name: text,
    tool_call_id: text,
    role: text,
    tool_calls: z.array(z.looseObject({ name: z.string() })).nullish(),
    invalid_tool_calls: z.array(z.looseObject({})).nullish(),
    additional_kwargs: record,
    response_metadata: record,
    usage_metadata: record,
  }),
});
const stateShape = z.looseObject({ version: z.literal(1).default(1), messages: z.array(z.unknown()) });

/**
 * A message in LangChain's own form for storing, `{ type, data }`.
 * @throws AppError invalid_request when it is no message that can be kept: a removal, for one
 */
export function toStoredMessage(message: BaseMessage): StoredMessage {
  const type = message.type === "generic" || ChatMessage.isInstance(message) ? "generic" : message.type;
  if (!(type in KINDS)) throw invalid(`A message of the type "${message.type}" cannot be kept.`);
  const now: Record<string, unknown> = { ...message };
  // What its constructor was given, with the values of now. LangChain's own `toDict` would wrap what looks like one of its
  // records, and nothing would unwrap it.
  const data = Object.fromEntries(
    Object.entries(message.lc_kwargs).map(([key, value]) => [key, key in now ? now[key] : value]),
  );
  if (message.id !== undefined) data.id = message.id;
  return JSON.parse(JSON.stringify({ type, data }));
}

/** @param where how the message is called in the error @throws AppError invalid_request */
export function fromStoredMessage(value: unknown, where = "The message"): BaseMessage {
  const { success, data, error } = stored.safeParse(value);
  if (!success) {
    const [issue] = error.issues;
    throw invalid(`${where} is broken: ${issue?.path.join(".") || "all of it"}: ${issue?.message}.`);
  }
  const needs = { tool: "tool_call_id", generic: "role" }[data.type];
  if (needs !== undefined && typeof data.data[needs] !== "string") {
    throw invalid(`${where} is broken: data.${needs} is missing.`);
  }
  if (!(data.type in KINDS)) throw invalid(`${where} has the type "${data.type}", which no message has.`);
  try {
    const [message] = mapStoredMessagesToChatMessages([data as unknown as StoredMessage]);
    if (message) return message;
  } catch {
    // Said below.
  }
  throw invalid(`${where} is broken: its fields are not those of a message.`);
}

/** The messages of a state that was kept somewhere. @throws AppError invalid_request, which names what is wrong */
export function readStoreState(state: unknown): BaseMessage[] {
  const { success, data, error } = stateShape.safeParse(state);
  if (!success) {
    const [issue] = error.issues;
    throw invalid(`The state of a message store is broken: ${issue?.path.join(".")}: ${issue?.message}.`);
  }
  return data.messages.map((message, index) => fromStoredMessage(message, `messages[${index}]`));
}

export const toStoreState = (messages: readonly BaseMessage[]): StoreState => ({
  version: 1,
  messages: messages.map(toStoredMessage),
});

const invalid = (message: string) => new AppError("invalid_request", message);
