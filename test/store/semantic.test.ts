// Semantic search, with pgvector and without it: what is embedded, what comes nearest, and what happens when the model fails
// or becomes another one.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import path from "node:path";
import { InMemoryStore } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from "vitest";
import { StartupError } from "../../src/errors.ts";
import { createImporter } from "../../src/graphs/importer.ts";
import type { PostgresStore } from "../../src/store/postgres-store.ts";
import { createStore, type Store } from "../../src/store/store.ts";
import { backwards, embed } from "../fixtures/store/embed.ts";
import { startApp } from "../helpers/app.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { findPgvectorServer, withoutExtensions } from "../helpers/pgvector.ts";

const file = path.resolve(import.meta.dirname, "../fixtures/store/langgraph.json");
const DIMS = 8;

const pgvectorServer = await findPgvectorServer();

describe.each(["exact", "pgvector"] as const)("%s", (search) => {
  if (search === "pgvector" && pgvectorServer === undefined) {
    it.skip("no pgvector in this PostgreSQL, and no TEST_PGVECTOR_URL", () => undefined);
    return;
  }
  const server = search === "pgvector" ? pgvectorServer : undefined;
  let database: TestDatabase;
  beforeAll(async () => {
    database = await createTestDatabase(server ? { server } : {});
  });
  afterEach(() => database.db.query("delete from heddle.store_items"));
  afterAll(() => database.drop());

  const openStore = (
    index: { embed: string; dims?: number; fields?: string[] } | undefined,
    openai: { apiKey?: string; baseUrl?: string } = {},
  ): Promise<Store> =>
    createStore({
      db: search === "pgvector" ? database.db : withoutExtensions(database.db),
      settings: index ? { index: { dims: DIMS, ...index } } : {},
      file,
      importer: createImporter(path.dirname(file)),
      openai,
      log: pino({ level: "silent" }),
    });
  const letters = async (fields?: string[]) =>
    (await openStore({ embed: "./embed.ts:embed", ...(fields ? { fields } : {}) })).open({ owner: "" });

  const keysOf = (items: { key: string }[]) => items.map(({ key }) => key);
  const count = async () =>
    (await database.db.query<{ count: number }>("select count(*)::integer from heddle.store_vectors"))[0]
      ?.count;

  describe("semantic search", () => {
    it("is done as it is said", async () => {
      expect((await openStore({ embed: "./embed.ts:embed" })).search).toBe(search);
      expect((await openStore(undefined)).search).toBe(null);
    });

    it("is named by /info, and done so over HTTP", async () => {
      const app = await startApp({
        graphs: path.resolve(path.dirname(file), "index.langgraph.json"),
        env: { DATABASE_URL: database.url },
      });
      const info = await (await fetch(`${app.url}/info`)).json();
      const here = pgvectorServer === inject("databaseUrl") ? "pgvector" : search;
      expect(info).toMatchObject({ heddle: { store: { search: here } } });
      await app.client.store.putItem(["a"], "far", { text: "b" });
      await app.client.store.putItem(["a"], "near", { text: "a" });
      const { items } = await app.client.store.searchItems(["a"], { query: "a" });
      expect(items).toMatchObject([
        { key: "near", score: 1 },
        { key: "far", score: 0 },
      ]);
      await app.close();
    });

    it("gives the nearest first, with their scores, then those that have no vector", async () => {
      const store = await letters(["text"]);
      await store.put(["a"], "far", { text: "b" });
      await store.put(["a"], "near", { text: "aab" });
      await store.put(["a"], "none", { text: "" });
      await store.put(["a"], "unindexed", { text: "a" }, false);
      await store.put(["b"], "elsewhere", { text: "a" });
      const items = await store.search(["a"], { query: "a" });
      expect(keysOf(items)).toEqual(["near", "far", "none", "unindexed"]);
      expect(items.map(({ score }) => score)).toEqual([
        expect.closeTo(2 / Math.sqrt(5), 6),
        0,
        undefined,
        undefined,
      ]);
      expect(keysOf(await store.search(["a"], { query: "a", filter: { text: "b" } }))).toEqual(["far"]);
      for (const [offset, limit] of [
        [0, 1],
        [1, 2],
        [2, 1],
        [3, 5],
        [4, 1],
      ] as const) {
        expect(keysOf(await store.search(["a"], { query: "a", limit, offset }))).toEqual(
          keysOf(items).slice(offset, offset + limit),
        );
      }
      expect((await store.search(["a"])).every((item) => item.score === undefined)).toBe(true);
      await expect(store.search(["a"], { query: "a", limit: 10, offset: 10_000 })).rejects.toMatchObject({
        code: "invalid_request",
      });
    });

    it("scores as InMemoryStore does, whatever is put over what", async () => {
      const text = fc.string({ unit: fc.constantFrom(..."abcd "), minLength: 1, maxLength: 6 });
      const put = fc.record({
        key: fc.constantFrom("1", "2", "3", "4", "5"),
        value: fc.record({ text, list: fc.array(fc.record({ text }), { maxLength: 3 }) }),
      });
      await fc.assert(
        fc.asyncProperty(fc.array(put, { minLength: 1, maxLength: 12 }), text, async (puts, query) => {
          await database.db.query("delete from heddle.store_items");
          // The official one keeps the vectors of a value that has been replaced: the last value of each key alone.
          const last = new Map(puts.map((one) => [one.key as string, one]));
          const fields = ["text", "list[*].text"];
          const model = new InMemoryStore({
            index: {
              dims: DIMS,
              embeddings: {
                embedDocuments: embed,
                embedQuery: async (one: string) => (await embed([one]))[0],
              } as never,
              fields,
            },
          });
          const ours = await letters(fields);
          for (const { key, value } of puts) await ours.put(["a"], key, value);
          for (const { key, value } of last.values()) await model.put(["a"], key, value);
          const scores = async (store: Pick<PostgresStore, "search">) =>
            new Map((await store.search(["a"], { query })).map(({ key, score }) => [key, score]));
          const expected = await scores(model as unknown as PostgresStore);
          const got = await scores(ours);
          expect([...got.keys()].toSorted()).toEqual([...expected.keys()].toSorted());
          for (const [key, score] of expected) {
            // A text of spaces is no text for us.
            const isBlank = !/\S/.test(
              JSON.stringify(last.get(key)?.value).replaceAll(/"[a-z]*":|[[\]{},"]/g, ""),
            );
            if (!isBlank) expect(got.get(key), JSON.stringify(puts)).toBeCloseTo(score ?? Number.NaN, 5);
          }
        }),
        { seed: 6, numRuns: 60 },
      );
    });

    it("takes the item's own fields before those of the index, and replaces vectors with the value", async () => {
      const store = await letters(["text"]);
      await store.put(["a"], "k", { text: "a", deep: { list: [{ t: "b" }, { t: "c" }] } }, [
        "deep.list[*].t",
      ]);
      expect(await count()).toBe(2);
      expect(await store.search([], { query: "c" })).toMatchObject([{ score: 1 }]);
      expect(await store.search([], { query: "a" })).toMatchObject([{ score: 0 }]);
      await store.put(["a"], "k", { text: "a" });
      expect(await count()).toBe(1);
      expect(await store.search([], { query: "a" })).toMatchObject([{ score: 1 }]);
      await store.delete(["a"], "k");
      expect(await count()).toBe(0);
    });

    it("writes nothing when the model fails, and says what failed", async () => {
      const store = await letters();
      await store.put(["a"], "old", { text: "a" });
      const batch = store.batch([
        { namespace: ["a"], key: "old", value: null },
        { namespace: ["a"], key: "new", value: { text: "fail" } },
      ]);
      await expect(batch).rejects.toMatchObject({
        code: "embedding_failed",
        message: "store.index.embed (./embed.ts:embed): the texts could not be embedded: no such luck.",
      });
      expect(keysOf(await store.search([]))).toEqual(["old"]);
      await expect(store.search([], { query: "fail" })).rejects.toMatchObject({ code: "embedding_failed" });
      for (const [name, problem] of [
        ["short", "a vector of 1 dimensions, where langgraph.json says 8"],
        ["few", "0 vectors for 1 texts"],
      ]) {
        const wrong = (await openStore({ embed: `./embed.ts:${name}` })).open({ owner: "" });
        await expect(wrong.put(["a"], "new", { text: "a" })).rejects.toThrow(problem);
      }
      expect(keysOf(await store.search([]))).toEqual(["old"]);
    });

    it("looks through more vectors than are read at once", async () => {
      const store = await letters(["text"]);
      const puts = Array.from({ length: 1_200 }, (_, n) => ({
        namespace: ["a"],
        key: `${n}`,
        value: { text: n === 777 ? "h" : "a" },
      }));
      await store.batch(puts);
      const found = await store.search(["a"], { query: "h", limit: 2 });
      expect(keysOf(found)).toEqual(["777", "0"]);
    });
  });

  describe("an index that becomes another one", () => {
    /** Keeps a store until nothing is left to embed. */
    const settle = async (store: Store) => {
      const stop = store.startKeeping();
      await expect
        .poll(async () =>
          database.db.query(
            `select 1 from heddle.store_items
           where index_id is distinct from 0 and index_id is distinct from
             (select index_id from heddle.store_indexes order by chosen_at desc limit 1)`,
          ),
        )
        .toEqual([]);
      await stop();
    };

    it("embeds anew what has no vectors of it, and finds meanwhile what it can", async () => {
      const plain = (await openStore(undefined)).open({ owner: "" });
      for (let n = 0; n < 70; n++) await plain.put(["a"], `${n}`, { text: n === 69 ? "h" : "a" });
      await plain.put(["a"], "unindexed", { text: "h" }, false);
      const first = await openStore({ embed: "./embed.ts:embed", fields: ["text"] });
      expect(await count()).toBe(0);
      await settle(first);
      expect(await count()).toBe(70);
      expect(await first.open({ owner: "" }).search([], { query: "h", limit: 1 })).toMatchObject([
        { key: "69", score: 1 },
      ]);
      const second = await openStore({ embed: "./embed.ts:backwards", fields: ["text"] });
      // Vectors of another model are not compared with.
      const [unranked] = await second.open({ owner: "" }).search([], { query: "h", limit: 1 });
      expect([unranked?.key, unranked?.score]).toEqual(["0", undefined]);
      await settle(second);
      expect(await count()).toBe(70);
      expect(await second.open({ owner: "" }).search([], { query: "h", limit: 1 })).toMatchObject([
        { key: "69", score: 1 },
      ]);
      expect(await backwards.embedQuery("h")).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
    });

    it("does not hang on a text that the model does not take", async () => {
      const plain = (await openStore(undefined)).open({ owner: "" });
      await plain.put(["a"], "bad", { text: "fail" });
      await plain.put(["a"], "good", { text: "a" });
      const store = await openStore({ embed: "./embed.ts:embed", fields: ["text"] });
      await settle(store);
      expect(keysOf(await store.open({ owner: "" }).search([], { query: "a" }))).toEqual(["good", "bad"]);
    });
  });

  describe("store.index.embed", () => {
    it.each([
      ["./nowhere.ts:embed", "there is no such file"],
      ["./embed.ts:nothing", 'there is no such export "nothing"'],
      ["./embed.ts:words", 'there is no such export "words"'],
      ["cohere:embed-v3", 'only "openai:<model>" is known'],
      ["openai", 'only "openai:<model>" is known'],
      ["openai:text-embedding-3-small", "which needs a key"],
    ])("%s ends the start with a sentence", async (name, message) => {
      const start = openStore({ embed: name });
      await expect(start).rejects.toThrow(StartupError);
      await expect(start).rejects.toThrow(message);
    });

    it("asks an OpenAI-compatible endpoint, for as many dimensions as are wanted", async () => {
      const bodies: { model: string; input: string[]; dimensions?: number; encoding_format?: string }[] = [];
      let status = 200;
      const server: Server = createServer(async (request, response) => {
        let text = "";
        for await (const chunk of request) text += chunk;
        const body = JSON.parse(text);
        bodies.push(body);
        const vectors = await embed([body.input].flat());
        const data = vectors.map((vector, index) => ({
          object: "embedding",
          index,
          embedding:
            body.encoding_format === "base64"
              ? Buffer.from(Float32Array.from(vector).buffer).toString("base64")
              : vector,
        }));
        response.writeHead(status, { "content-type": "application/json" });
        response.end(
          JSON.stringify(
            status === 200 ? { object: "list", data, model: body.model } : { error: { message: "bad text" } },
          ),
        );
      });
      await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
      const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
      const store = (
        await openStore({ embed: "openai:text-embedding-3-small", fields: ["text"] }, { baseUrl })
      ).open({
        owner: "",
      });
      await store.put(["a"], "k", { text: "abc" });
      await store.put(["a"], "l", { text: "h" });
      expect(keysOf(await store.search([], { query: "h" }))).toEqual(["l", "k"]);
      expect(bodies[0]).toMatchObject({ model: "text-embedding-3-small", input: ["abc"], dimensions: DIMS });
      status = 400;
      await expect(store.put(["a"], "m", { text: "a" })).rejects.toMatchObject({ code: "embedding_failed" });
      expect(keysOf(await store.search([]))).toEqual(["k", "l"]);
      await new Promise((resolve) => server.close(resolve));
    });
  });
});
