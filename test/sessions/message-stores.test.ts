// The one suite on every message store, and what each has of its own.
import { randomUUID } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createMemoryMessageStores } from "#kit";
import { FencedError } from "../../src/db/checkpointer.ts";
import { MESSAGE_STORE_CASES, type OpenMessageStore } from "../../src/sessions/message-store-conformance.ts";
import { createPostgresMessageStore } from "../../src/sessions/postgres-message-store.ts";
import { createRedisMessageStores, type RedisMessageStores } from "../../src/sessions/redis-message-store.ts";
import { createCosmosMessageStore } from "../fixtures/sessions/cosmos-message-store.ts";
import { startCosmos } from "../helpers/cosmos-stand-in.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { findRedis } from "../helpers/redis.ts";

const server = await findRedis();
let database: TestDatabase;
let cosmos: Awaited<ReturnType<typeof startCosmos>>;
const redis: RedisMessageStores[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  cosmos = await startCosmos();
});
afterAll(async () => {
  await database.drop();
  await cosmos.close();
  for (const stores of redis) await stores.close();
  await server?.close();
});

const openRedis = (options: { maxMessages?: number; ttlSeconds?: number; url?: string } = {}) => {
  const stores = createRedisMessageStores({ url: server?.url ?? "", ttlSeconds: 60, ...options });
  redis.push(stores);
  return stores;
};
const openPostgres = (sessionId: string, options = {}, owner = "ann") =>
  createPostgresMessageStore({ db: database.db, ...options }, { owner, sessionId });

const inMemory = createMemoryMessageStores();
const STORES: Record<string, OpenMessageStore> = {
  memory: inMemory,
  PostgreSQL: (id) => openPostgres(id),
  "Cosmos DB, the example of docs/sessions.md": (id) => createCosmosMessageStore(cosmos.options, id),
};
if (server) STORES.Redis = openRedis().open;

describe.each(Object.entries(STORES))("the message store in %s", (_, open) => {
  it.each(MESSAGE_STORE_CASES)("$name", ({ check }) => check(open));
});

const messages = (...texts: string[]) => texts.map((content) => new HumanMessage({ id: content, content }));
const read = async (store: { list_messages(): Promise<{ text: string }[]> }) =>
  (await store.list_messages()).map(({ text }) => text);

describe("the store in memory", () => {
  it("forgets a session that nobody has used for its time", async () => {
    let now = 0;
    const open = createMemoryMessageStores({ ttlMs: 100, now: () => now });
    await open("old").add_messages(messages("a"));
    await open("used").add_messages(messages("b"));
    now = 60;
    expect(await read(open("used"))).toEqual(["b"]);
    now = 120;
    expect(await read(open("old"))).toEqual([]);
    expect(await read(open("used"))).toEqual(["b"]);
  });

  it("forgets the session used longest ago when there is too much, and of one that is too large its oldest messages", async () => {
    const text = (name: string) => name.repeat(100);
    const open = createMemoryMessageStores({ maxCharacters: 1_000 });
    await open("first").add_messages(messages(text("a")));
    await open("second").add_messages(messages(text("b")));
    await open("first").list_messages();
    await open("third").add_messages(messages(text("c"), text("d")));
    expect(await read(open("second"))).toEqual([]);
    expect(await read(open("third"))).toHaveLength(2);
    await open("third").add_messages(messages(text("e"), text("f"), text("g")));
    const kept = await read(open("third"));
    expect(kept.at(-1)).toBe(text("g"));
    expect(kept.length).toBeLessThan(5);
  });

  it("keeps no more than the newest messages of a session", async () => {
    const open = createMemoryMessageStores({ maxMessages: 2 });
    await open("s").add_messages(messages("a", "b", "c"));
    expect(await read(open("s"))).toEqual(["b", "c"]);
  });
});

describe("the store in PostgreSQL", () => {
  it("keeps the sessions of two owners apart, though they have the same id", async () => {
    const id = randomUUID();
    await openPostgres(id).add_messages(messages("of ann"));
    await openPostgres(id, {}, "bob").add_messages(messages("of bob"));
    expect(await read(openPostgres(id))).toEqual(["of ann"]);
  });

  it("keeps no more than the newest messages", async () => {
    const store = openPostgres(randomUUID(), { maxMessages: 2 });
    await store.add_messages(messages("a", "b", "c"));
    await store.add_messages(messages("d"));
    expect(await read(store)).toEqual(["c", "d"]);
    await store.deserialize_state(await openPostgres(randomUUID()).serialize_state());
    expect(await read(store)).toEqual([]);
  });

  it("takes nothing from a run that another worker has taken over", async () => {
    const threadId = randomUUID();
    await database.db.query("insert into heddle.threads (thread_id, fencing_token) values ($1, 2)", [
      threadId,
    ]);
    const id = randomUUID();
    const by = (token: string) => openPostgres(id, { fence: { threadId, token } });
    await by("2").add_messages(messages("kept"));
    await expect(by("1").add_messages(messages("late"))).rejects.toThrow(FencedError);
    await expect(by("1").deserialize_state({ version: 1, messages: [] })).rejects.toThrow(FencedError);
    expect(await read(by("1"))).toEqual(["kept"]);
  });
});

if (server) {
  describe("the store in Redis", () => {
    it("keeps no more than the newest messages, and an id that has gone with its message may come again", async () => {
      const id = randomUUID();
      const { open } = openRedis({ maxMessages: 2 });
      await open(id).add_messages(messages("a", "b", "c"));
      await open(id).add_messages(messages("a", "c"));
      expect(await read(open(id))).toEqual(["c", "a"]);
    });

    it("is there after a restart of whoever writes it", async () => {
      const id = randomUUID();
      const before = openRedis();
      await before.open(id).add_messages(messages("a"));
      await before.close();
      expect(await read(openRedis().open(id))).toEqual(["a"]);
    });
  });
} else {
  describe("the store in Redis", () => {
    it.skip("is not tested: there is no redis-server, and no REDIS_URL", () => {});
  });
}

it("says so when Redis does not answer", async () => {
  const { open } = openRedis({ url: "redis://127.0.0.1:1" });
  await expect(open("s").list_messages()).rejects.toMatchObject({ code: "message_store_unavailable" });
});
