// Messages in Heddle's own PostgreSQL (document 003 §3.4): the store of a session unless another is asked for.
import { hash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";
import { FencedError } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import {
  type ChatMessageStore,
  fromStoredMessage,
  readStoreState,
  toStoredMessage,
  toStoreState,
} from "../kit/chat-message-store.ts";
import {
  deleteMessages,
  type Fence,
  insertMessages,
  type SessionKey,
  selectMessages,
  takeSession,
} from "./messages.sql.ts";

interface PostgresOptions {
  readonly db: Pick<Database, "query" | "transaction">;
  /** Newest messages of a session that are kept; all by default. */
  readonly maxMessages?: number | undefined;
  readonly fence?: Fence | undefined;
}

/** The messages of one session. @throws FencedError from what writes, when the run that does has been taken over */
export function createPostgresMessageStore(
  { db, maxMessages = 0, fence }: PostgresOptions,
  key: SessionKey,
): ChatMessageStore {
  const check = (taken: readonly unknown[]) => {
    if (taken.length === 0) throw new FencedError(fence?.threadId ?? key.sessionId);
  };
  const add = async (tx: Queryable, messages: readonly BaseMessage[]) => {
    check(await insertMessages(tx, key, fence, messages.map(toRow)));
    if (maxMessages > 0) await deleteMessages(tx, key, maxMessages);
  };
  const list = async () => {
    const rows = await selectMessages(db, key);
    return rows.map(({ message }) => fromStoredMessage(JSON.parse(message)));
  };
  return {
    list_messages: list,
    async add_messages(messages) {
      if (messages.length === 0) return;
      await (maxMessages > 0 ? db.transaction((tx) => add(tx, messages)) : add(db, messages));
    },
    serialize_state: async () => toStoreState(await list()),
    async deserialize_state(state) {
      const messages = readStoreState(state);
      await db.transaction(async (tx) => {
        check(await takeSession(tx, key, fence));
        await deleteMessages(tx, key, 0);
        await add(tx, messages);
      });
    },
  };
}

const toRow = (message: BaseMessage) => ({
  digest: message.id === undefined ? null : hash("sha256", message.id, "buffer"),
  json: JSON.stringify(toStoredMessage(message)),
});
