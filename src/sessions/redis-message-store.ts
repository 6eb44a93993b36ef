// Messages in Redis (document 003 §3.2), of Redis 7 or anything that speaks like it: a list of the messages and a set of
// their ids for each thread, nothing but plain types. A script does each change, so that it is done whole or not at all.
import { once } from "node:events";
import type { BaseMessage } from "@langchain/core/messages";
import { createClient } from "@redis/client";
import type { Logger } from "pino";
import { AppError } from "../errors.ts";
import {
  type ChatMessageStore,
  fromStoredMessage,
  readStoreState,
  toStoredMessage,
  toStoreState,
} from "../kit/chat-message-store.ts";

interface RedisOptions {
  readonly url: string;
  /** Newest messages of a thread that are kept; all by default. */
  readonly maxMessages?: number | undefined;
  /** How long a thread is kept after its last change; for ever by default. */
  readonly ttlSeconds?: number | undefined;
  readonly log?: Pick<Logger, "warn"> | undefined;
}

export interface RedisMessageStores {
  open(threadId: string): ChatMessageStore;
  close(): Promise<void>;
}

/**
 * KEYS: list, set. ARGV: whether to begin anew, most messages (0: no limit), seconds to keep (0: for ever), then id and
 * message in turn. An element of the list is the id as JSON, a line break, and the message.
 */
const ADD = `
if ARGV[1] == '1' then redis.call('DEL', KEYS[1], KEYS[2]) end
for i = 4, #ARGV, 2 do
  if ARGV[i] == '' or redis.call('SADD', KEYS[2], ARGV[i]) == 1 then
    redis.call('RPUSH', KEYS[1], ARGV[i] .. '\\n' .. ARGV[i + 1])
  end
end
local over = redis.call('LLEN', KEYS[1]) - tonumber(ARGV[2])
if tonumber(ARGV[2]) > 0 and over > 0 then
  for _, gone in ipairs(redis.call('LPOP', KEYS[1], over)) do
    redis.call('SREM', KEYS[2], string.sub(gone, 1, string.find(gone, '\\n', 1, true) - 1))
  end
end
if tonumber(ARGV[3]) > 0 then
  redis.call('EXPIRE', KEYS[1], ARGV[3])
  redis.call('EXPIRE', KEYS[2], ARGV[3])
end`;

const COMMAND_MS = 10_000;

/** Connects when it is first asked for something, and again after Redis was away. */
export function createRedisMessageStores(options: RedisOptions): RedisMessageStores {
  const { url, maxMessages = 0, ttlSeconds = 0, log } = options;
  const client = createClient({
    url,
    // Whoever asks while Redis is away is told so.
    disableOfflineQueue: true,
    commandOptions: { timeout: COMMAND_MS },
    socket: { connectTimeout: COMMAND_MS, reconnectStrategy: (tries) => Math.min(tries * 100, 2_000) },
  });
  let isAway = false;
  client.on("error", (error: Error) => {
    if (!isAway) log?.warn(error, "Redis does not answer: sessions whose messages it has cannot go on");
    isAway = true;
  });
  client.on("ready", () => {
    isAway = false;
  });
  const connect = async () => {
    if (!client.isOpen) void client.connect().catch(() => undefined);
    // Rejects when there is an error first.
    if (!client.isReady) await once(client, "ready", { signal: AbortSignal.timeout(COMMAND_MS) });
  };
  const ask = async <Answer>(what: (redis: typeof client) => Promise<Answer>): Promise<Answer> => {
    try {
      await connect();
      return await what(client);
    } catch (error) {
      throw new AppError(
        "message_store_unavailable",
        "Redis, which keeps the session's messages, does not answer.",
        {
          cause: error,
        },
      );
    }
  };

  return {
    open(threadId) {
      // The braces keep both on one node of a cluster.
      const keys = ["list", "ids"].map((name) => `heddle:messages:{${threadId}}:${name}`);
      const [listKey = ""] = keys;
      const add = (messages: readonly BaseMessage[], anew: boolean) => {
        const rows = messages.flatMap((message) => [
          message.id === undefined ? "" : JSON.stringify(message.id),
          JSON.stringify(toStoredMessage(message)),
        ]);
        const all = [anew ? "1" : "0", String(maxMessages), String(ttlSeconds), ...rows];
        return ask((redis) => redis.eval(ADD, { keys, arguments: all }));
      };
      const list = async () => {
        const elements = await ask((redis) => redis.lRange(listKey, 0, -1));
        return elements.map((element) =>
          fromStoredMessage(JSON.parse(element.slice(element.indexOf("\n") + 1))),
        );
      };
      return {
        list_messages: list,
        async add_messages(messages) {
          if (messages.length > 0) await add(messages, false);
        },
        serialize_state: async () => toStoreState(await list()),
        async deserialize_state(state) {
          await add(readStoreState(state), true);
        },
      };
    },
    async close() {
      if (client.isOpen) client.destroy();
    },
  };
}
