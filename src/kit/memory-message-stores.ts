// Messages by session in the memory of this process (document 003 §3.1): gone with it, and before that by time or when
// there is too much of them. What graphs fall back to where no server gives them a store.
import type { BaseMessage } from "@langchain/core/messages";
import {
  type ChatMessageStore,
  fromStoredMessage,
  readStoreState,
  toStoredMessage,
  toStoreState,
} from "./chat-message-store.ts";

interface MemoryOptions {
  /** How long a session is kept after it was last used. */
  readonly ttlMs?: number;
  /** Of all sessions together, as JSON. The ones used longest ago go first; one alone keeps its newest messages. */
  readonly maxCharacters?: number;
  /** Newest messages of a session that are kept. */
  readonly maxMessages?: number | undefined;
  readonly now?: () => number;
}

interface Held {
  readonly id: string | undefined;
  readonly json: string;
}

interface Session {
  readonly messages: Held[];
  readonly ids: Set<string>;
  characters: number;
  usedAt: number;
}

/** Returns what opens the store of a session. Stores of one session share its messages. */
export function createMemoryMessageStores({
  ttlMs = 24 * 60 * 60 * 1_000,
  maxCharacters = 64 * 1024 * 1024,
  maxMessages = Number.POSITIVE_INFINITY,
  now = Date.now,
}: MemoryOptions = {}): (session: string) => ChatMessageStore {
  // In the order of last use.
  const sessions = new Map<string, Session>();
  let characters = 0;

  const forget = (key: string) => {
    characters -= sessions.get(key)?.characters ?? 0;
    sessions.delete(key);
  };
  /** The session, used now. */
  const use = (key: string): Session => {
    for (const [old, { usedAt }] of sessions) {
      if (usedAt + ttlMs > now()) break;
      forget(old);
    }
    const session = sessions.get(key) ?? { messages: [], ids: new Set(), characters: 0, usedAt: 0 };
    session.usedAt = now();
    sessions.delete(key);
    sessions.set(key, session);
    return session;
  };
  const resize = (session: Session, by: number) => {
    session.characters += by;
    characters += by;
  };
  const add = (key: string, added: readonly Held[]) => {
    const session = use(key);
    const { messages, ids } = session;
    for (const message of added) {
      if (message.id !== undefined && ids.has(message.id)) continue;
      if (message.id !== undefined) ids.add(message.id);
      messages.push(message);
      resize(session, message.json.length);
    }
    let over = 0;
    for (const { id, json } of messages) {
      const isOver = messages.length - over > maxMessages || session.characters > maxCharacters;
      if (!isOver || over === messages.length - 1) break;
      over++;
      if (id !== undefined) ids.delete(id);
      resize(session, -json.length);
    }
    if (over > 0) messages.splice(0, over);
    for (const old of sessions.keys()) {
      if (characters <= maxCharacters || old === key) break;
      forget(old);
    }
  };

  return (key) => {
    const read = () => (sessions.has(key) ? use(key).messages : []);
    const list = () => read().map(({ json }) => fromStoredMessage(JSON.parse(json)));
    return {
      list_messages: async () => list(),
      async add_messages(messages) {
        add(key, messages.map(toHeld));
      },
      serialize_state: async () => toStoreState(list()),
      async deserialize_state(state) {
        const messages = readStoreState(state).map(toHeld);
        forget(key);
        add(key, messages);
      },
    };
  };
}

const toHeld = (message: BaseMessage): Held => ({
  id: message.id,
  json: JSON.stringify(toStoredMessage(message)),
});
