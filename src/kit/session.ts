// The session of a run: a conversation that outlives the thread of the run. On a Heddle server it is in a store that all
// servers share; elsewhere (Studio's dev server, a test) a graph brings one in memory.
import { AppError } from "../errors.ts";
import { type AgentThread, bothKinds, createAgentThread } from "./agent-thread.ts";
import { createMemoryMessageStores } from "./memory-message-stores.ts";
import { runSetting } from "./run-settings.ts";

/**
 * Key in `configurable` under which a server gives a run its session, as a function. LangGraph keeps `__` keys out of
 * metadata, the server takes a client's out.
 */
export const SESSION_KEY = "__heddle_session";

const MAX_LENGTH = 255;

/** Whether a session, or what it is kept by, can be called so. */
export const isSessionName = (name: unknown): name is string =>
  typeof name === "string" &&
  name.length >= 1 &&
  name.length <= MAX_LENGTH &&
  !name.includes("\0") &&
  name.isWellFormed();

export const SESSION_NAME = `must be a text of 1 to ${MAX_LENGTH} characters, none of them NUL`;

/** What a run says of its session. */
export interface SessionSettings {
  readonly sessionId: string;
  /** Where a session that is not there yet is to be kept; the server's default if it is not said. */
  readonly messageStore: string | undefined;
  /** What the model's provider calls the conversation, where it keeps it. */
  readonly serviceThreadId: string | undefined;
}

interface RunInformation {
  readonly context?: unknown;
  readonly configurable?: unknown;
}

/**
 * From `session_id`, `message_store` and `service_thread_id` of a run; undefined when it has no session.
 * @throws AppError invalid_request when one of them is not a text, or both kinds are asked for
 */
export function sessionSettings(run: RunInformation): SessionSettings | undefined {
  const read = (key: string): string | undefined => {
    const value = runSetting(run, key);
    if (value === undefined || value === null) return undefined;
    if (isSessionName(value)) return value;
    throw new AppError("invalid_request", `${key} ${SESSION_NAME}.`);
  };
  const sessionId = read("session_id");
  if (sessionId === undefined) return undefined;
  const [messageStore, serviceThreadId] = [read("message_store"), read("service_thread_id")];
  if (messageStore !== undefined && serviceThreadId !== undefined) throw bothKinds();
  return { sessionId, messageStore, serviceThreadId };
}

/** Opens the session of a run that no server has given one. */
export type OpenSession = (settings: SessionSettings) => AgentThread;

/** @throws AppError as `sessionSettings` does, and what the server says of the session */
export async function sessionOf(
  run: RunInformation,
  fallback: OpenSession,
): Promise<AgentThread | undefined> {
  const settings = sessionSettings(run);
  if (settings === undefined) return undefined;
  const open = (run.configurable as Record<string, unknown> | undefined)?.[SESSION_KEY];
  return typeof open === "function" ? open(settings) : fallback(settings);
}

/** Sessions of a process without a server: gone with it. `message_store` names nothing here. */
export function createMemorySessions(): OpenSession {
  const open = createMemoryMessageStores();
  const services = new Map<string, AgentThread>();
  return ({ sessionId, serviceThreadId }) => {
    const known = services.get(sessionId);
    if (known) return known;
    if (serviceThreadId === undefined) return createAgentThread({ message_store: open(sessionId) });
    const thread = createAgentThread({ service_thread_id: serviceThreadId });
    services.set(sessionId, thread);
    return thread;
  };
}
