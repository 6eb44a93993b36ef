// The conversation that a graph works in, as the graph sees it: document 002. On a Heddle server it is in PostgreSQL and
// shared by every server; elsewhere (Studio's dev server, a test) a graph brings one in memory. Agents return data; the
// node that called them updates.
import type {
  ConversationPatch,
  ConversationStateValues,
  MessagePatch,
  StateValues,
} from "./conversation-values.ts";
import { threadIdOf } from "./run-settings.ts";

/**
 * Key in `configurable` under which a server gives a run its conversation, as a function: no stream and no log shows one.
 * LangGraph keeps `__` keys out of metadata, the server takes a client's out.
 */
export const CONVERSATION_KEY = "__heddle_conversation";

export interface ConversationState {
  readonly values: ConversationStateValues;
  /** Grows with every change; 0 before the first. `deepResearchRun` is derived and has no part in it. */
  readonly version: number;
}

export interface MessageState {
  readonly values: StateValues;
  readonly version: number;
}

/**
 * The two states of the message that a run answers. Changes of parallel tasks are all kept. On a server they count only
 * while the run is this worker's, as its checkpoints do; and clients are told of each.
 */
export interface Conversation {
  /** The thread's id. */
  readonly id: string;
  read(): Promise<ConversationState>;
  /**
   * Writes some keys: `keyInsights` and `discoveries` grow by what they do not have yet, the others are replaced, null
   * clears. With `version`, only if nothing has changed since. Returns the new version.
   * @throws AppError invalid_request, which names the key; version_conflict, with the current version in its details
   */
  patch(patch: ConversationPatch, options?: { readonly version?: number }): Promise<number>;
  /**
   * Writes what follows from what is there, one task of the plan for example: `make` gets the newest values, and is called
   * again when somebody else was faster. Returns the new version.
   */
  change(make: (values: ConversationStateValues) => ConversationPatch): Promise<number>;
  /** The state of this run's message. */
  readMessage(): Promise<MessageState>;
  /**
   * Writes some keys of it; null clears. Returns the new version. With `isDeepResearch: true` the run is the conversation's
   * `deepResearchRun` from now on, on a server.
   */
  patchMessage(patch: MessagePatch): Promise<number>;
  /** Does `work` as a step of the message, with its start and, once it has returned, its end. */
  step<Result>(name: string, work: () => Promise<Result>): Promise<Result>;
  /** Tells clients that a file of `uploadedDatasets` has been read and described. */
  fileReady(fileId: string): Promise<void>;
  /** Tells clients that it could not be; why is what they fetch. */
  fileFailed(fileId: string): Promise<void>;
}

/** Opens the conversation of a run that no server has given one. */
export type OpenConversation = (run: { readonly threadId: string; readonly runId: string }) => Conversation;

interface RunInformation {
  readonly configurable?: unknown;
}

/** The conversation of the run with this configuration. @throws Error when the run belongs to no thread */
export function conversationOf(run: RunInformation, fallback: OpenConversation): Conversation {
  const configurable = (run.configurable ?? {}) as Record<string, unknown>;
  const open = configurable[CONVERSATION_KEY];
  if (typeof open === "function") return open();
  const threadId = threadIdOf(run);
  return fallback({ threadId, runId: String(configurable.run_id ?? threadId) });
}
