// Conversations: read and changed, by clients and by the runs that work in them. A change is one statement under the
// conversation's row, which tells of it as well; in this process one statement at a time waits for that row.
import { FencedError } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError } from "../errors.ts";
import type { Hub } from "../events/hub.ts";
import { CONVERSATION_KEY, type Conversation } from "../kit/conversation.ts";
import {
  type ConversationPatch,
  type ConversationStateValues,
  type StateValues,
  toPatchParts,
} from "../kit/conversation-values.ts";
import { versionConflict } from "../kit/make-conversation.ts";
import { type ConversationRow, patchConversation, selectConversation } from "./conversations.sql.ts";
import { toDeepResearchRun } from "./deep-research-run.ts";
import { expireConversations, type Retention } from "./expire.ts";
import { type FollowOptions, followNotifications, type Notification } from "./follow-notifications.ts";
import { type MessageStateRow, selectMessageState, type Writer } from "./message-states.sql.ts";
import { openForRun } from "./open-for-run.ts";
import { type Change, createPatchQueue } from "./patch-queue.ts";

export type { Notification };

type Versioned<Values> = {
  readonly thread_id: string;
  readonly state_id: string | null;
  readonly version: number;
  readonly values: Values;
  readonly created_at: Date | null;
  readonly updated_at: Date | null;
};

export interface Conversations {
  /** A conversation that nobody has changed is at version 0. @throws AppError thread_not_found */
  get(threadId: string, scope?: Scope): Promise<Versioned<ConversationStateValues>>;
  /**
   * Merges `values` key by key; with `versions`, only if one of them is the current one.
   * @throws AppError thread_not_found, version_conflict
   */
  patch(
    threadId: string,
    change: { values: ConversationPatch; versions?: readonly number[] | undefined; scope?: Scope },
  ): Promise<{ version: number; state_id: string }>;
  /** By its own id or its run's. @throws AppError message_state_not_found */
  getMessage(threadId: string, messageId: string, scope?: Scope): Promise<Versioned<StateValues>>;
  /**
   * What changes, as it changes: each notification once, in order, in pages. Ends when the signal aborts or the thread is
   * gone or no longer to be seen.
   */
  follow(threadId: string, options: FollowOptions): AsyncIterable<readonly Notification[]>;
  /** For the configuration of a run: its conversation, whose writes count while the run holds the thread's newest token. */
  offer(run: { readonly thread_id: string; readonly run_id: string; readonly fencing_token: string }): {
    readonly [CONVERSATION_KEY]: () => Conversation;
  };
  /** Deletes states of messages and notifications whose time is over. */
  expire(): Promise<void>;
  /** Something of the conversation has changed by other ways: its followers are to look. */
  announce(threadId: string): void;
}

interface ConversationDeps extends Retention {
  readonly db: Database;
  /** Waits for a database that is away: for what runs write. */
  readonly patient: Queryable;
  /** Wakes those who follow a conversation's notifications. */
  readonly hub: Hub;
}

export function createConversations({ db, patient, hub, ...retention }: ConversationDeps): Conversations {
  const enqueue = createPatchQueue();
  const announce = (threadId: string) => hub.publish(threadId, []);

  const patch = async (on: Queryable, change: Omit<Change, "write">) => {
    const { threadId, scope, run, versions } = change;
    const row = await enqueue({ ...change, write: (statement) => patchConversation(on, statement) });
    if (!row?.held) throw run ? new FencedError(threadId) : threadNotFound(threadId);
    if (row.version !== null && row.state_id !== null) {
      announce(threadId);
      return { version: row.version, state_id: row.state_id };
    }
    // What the statement has seen before it waited may be old.
    const [now] = await selectConversation(on, threadId, scope);
    if (!now || versions === null) throw threadNotFound(threadId);
    throw versionConflict(now.version);
  };

  const get = async (on: Queryable, threadId: string, scope: Scope) => {
    const [row] = await selectConversation(on, threadId, scope);
    if (!row) throw threadNotFound(threadId);
    return toConversation(row);
  };

  const getMessage = async (on: Queryable, threadId: string, messageId: string, scope: Scope) => {
    const [row] = await selectMessageState(on, threadId, {
      messageId,
      scope,
      seconds: retention.messageStateSeconds,
    });
    if (!row) {
      throw new AppError(
        "message_state_not_found",
        "The thread has no such message, or its state has been cleaned up.",
      );
    }
    return toMessageState(row);
  };

  const open = (run: Writer) =>
    openForRun(
      {
        db: patient,
        announce,
        read: () => get(patient, run.threadId, undefined),
        readMessage: () => getMessage(patient, run.threadId, run.runId, undefined),
        write: (values, version) =>
          patch(patient, {
            threadId: run.threadId,
            parts: toPatchParts(values),
            versions: version === undefined ? null : [version],
            run,
          }),
      },
      run,
    );

  return {
    announce,
    get: (threadId, scope) => get(db, threadId, scope),
    getMessage: (threadId, messageId, scope) => getMessage(db, threadId, messageId, scope),
    patch: (threadId, { values, versions, scope }) =>
      patch(db, { threadId, scope, parts: toPatchParts(values), versions: versions ?? null }),
    follow: (threadId, options) => followNotifications({ db, hub }, threadId, options),
    expire: () => expireConversations(db, retention),
    offer: ({ thread_id: threadId, run_id: runId, fencing_token: token }) => {
      const conversation = open({ threadId, runId, token });
      return { [CONVERSATION_KEY]: () => conversation };
    },
  };
}

const toConversation = ({ research, ...row }: ConversationRow): Versioned<ConversationStateValues> => ({
  ...row,
  values: {
    ...(row.values as unknown as ConversationStateValues),
    ...(research === null ? {} : { deepResearchRun: toDeepResearchRun(research) }),
  },
});

const toMessageState = (row: MessageStateRow): Versioned<StateValues> => ({
  ...row,
  values: row.values as StateValues,
});

const threadNotFound = (threadId: string) =>
  new AppError("thread_not_found", `Thread with ID ${threadId} not found`);
