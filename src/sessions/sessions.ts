// Sessions as clients and runs see them: opened, read, restored, removed. A session belongs to who began it; its kind is
// what it was when it began.
import { FencedError } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import { AppError } from "../errors.ts";
import {
  type AgentThread,
  type AgentThreadState,
  bothKinds,
  createAgentThread,
  readAgentThreadState,
} from "../kit/agent-thread.ts";
import { readStoreState } from "../kit/chat-message-store.ts";
import { SESSION_KEY, type SessionSettings, sessionSettings } from "../kit/session.ts";
import type { Fence, SessionKey } from "./messages.sql.ts";
import {
  deleteSession,
  insertSession,
  moveServiceThread,
  type SessionRow,
  selectSession,
} from "./sessions.sql.ts";
import type { MessageStores } from "./stores.ts";

interface RunWithSession {
  readonly config?: { readonly configurable?: Readonly<Record<string, unknown>> } | undefined;
  readonly context?: unknown;
}

export interface Sessions {
  /**
   * Whether a run could be given its session: before the run is there.
   * @throws AppError invalid_request, message_store_not_found, session_kind_fixed
   */
  check(run: RunWithSession & { readonly caller?: { readonly identity: string } | undefined }): Promise<void>;
  /** For the configuration of a run: its session, whose writes count while the run holds the thread's newest token. */
  offer(run: {
    readonly thread_id: string;
    readonly fencing_token: string;
    readonly kwargs: RunWithSession;
  }): {
    readonly [SESSION_KEY]: (settings: SessionSettings) => Promise<AgentThread>;
  };
  /** @throws AppError session_not_found */
  read(key: SessionKey): Promise<AgentThreadState>;
  /**
   * Makes the session what the state says, in `messageStore` if it is not there yet.
   * @throws AppError invalid_request, message_store_not_found, session_kind_fixed, and then nothing has changed
   */
  restore(key: SessionKey, state: unknown, messageStore: string | undefined): Promise<void>;
  /** @throws AppError session_not_found */
  remove(key: SessionKey): Promise<void>;
}

interface SessionDeps {
  readonly db: Database;
  /** Waits for a database that is away: for what runs write. */
  readonly patient: Queryable;
  readonly stores: MessageStores;
}

type Wanted = Omit<SessionSettings, "sessionId">;

export function createSessions({ db, patient, stores }: SessionDeps): Sessions {
  /** @throws AppError session_kind_fixed, message_store_not_found */
  const checkWanted = (key: SessionKey, row: SessionRow | undefined, wanted: Wanted) => {
    const { messageStore, serviceThreadId } = wanted;
    if (messageStore !== undefined) stores.check(messageStore);
    if (!row) return;
    if (row.message_store !== null) stores.check(row.message_store);
    const isOther =
      row.message_store === null
        ? messageStore !== undefined
        : serviceThreadId !== undefined || (messageStore ?? row.message_store) !== row.message_store;
    if (!isOther) return;
    const place =
      row.message_store === null ? "by the model's provider" : `in the message store "${row.message_store}"`;
    throw new AppError(
      "session_kind_fixed",
      `Session "${key.sessionId}" is kept ${place}. To keep one elsewhere, begin a new one.`,
    );
  };
  const open = async (key: SessionKey, row: SessionRow, fence?: Fence): Promise<AgentThread> => {
    if (row.message_store !== null) {
      return createAgentThread({ message_store: await stores.open(row.message_store, key, fence) });
    }
    return createAgentThread({
      service_thread_id: row.service_thread_id ?? undefined,
      onServiceThread: async (id) => {
        const moved = await moveServiceThread(fence ? patient : db, key, id, fence);
        if (moved.length === 0) throw new FencedError(fence?.threadId ?? key.sessionId);
      },
    });
  };
  /** As it is, or as it is wanted to be when nobody has begun it yet. */
  const begin = async (on: Queryable, key: SessionKey, wanted: Wanted): Promise<SessionRow> => {
    const { messageStore = stores.byDefault, serviceThreadId } = wanted;
    const [there] = await selectSession(on, key);
    checkWanted(key, there, wanted);
    if (there) return there;
    const asWanted =
      serviceThreadId === undefined
        ? { message_store: messageStore, service_thread_id: null }
        : { message_store: null, service_thread_id: serviceThreadId };
    const [made] = await insertSession(on, key, asWanted);
    // Somebody else has begun it in this moment.
    return made ?? begin(on, key, wanted);
  };

  return {
    async check({ config, context, caller }) {
      const settings = sessionSettings({ configurable: config?.configurable, context });
      if (settings === undefined) return;
      const key = { owner: caller?.identity ?? "", sessionId: settings.sessionId };
      const [row] = await selectSession(db, key);
      checkWanted(key, row, settings);
    },
    offer({ thread_id: threadId, fencing_token: token, kwargs }) {
      const owner = String(kwargs.config?.configurable?.langgraph_auth_user_id ?? "");
      const openOnce = async (settings: SessionSettings) => {
        const key = { owner, sessionId: settings.sessionId };
        return open(key, await begin(patient, key, settings), { threadId, token });
      };
      let opened: Promise<AgentThread> | undefined;
      return {
        [SESSION_KEY]: async (settings) => {
          opened ??= openOnce(settings);
          return opened;
        },
      };
    },
    async read(key) {
      const [row] = await selectSession(db, key);
      if (!row) throw notFound(key);
      return (await open(key, row)).serialize();
    },
    async restore(key, state, messageStore) {
      const { service_thread_id, chat_message_store_state: messages } = readAgentThreadState(state);
      if (service_thread_id === null && messages === null) {
        throw new AppError(
          "invalid_request",
          "The state has neither service_thread_id nor chat_message_store_state.",
        );
      }
      if (messages !== null) readStoreState(messages);
      if (service_thread_id !== null && messageStore !== undefined) throw bothKinds();
      const row = await begin(db, key, { messageStore, serviceThreadId: service_thread_id ?? undefined });
      await (await open(key, row)).deserialize(state);
    },
    async remove(key) {
      const [row] = await selectSession(db, key);
      if (!row) throw notFound(key);
      if (row.message_store !== null) {
        const store = await stores.open(row.message_store, key);
        await store.deserialize_state({ version: 1, messages: [] });
      }
      await deleteSession(db, key);
    },
  };
}

const notFound = ({ sessionId }: SessionKey) =>
  new AppError("session_not_found", `There is no session "${sessionId}".`);
