// Search by pgvector's index over many vectors: that it finds what is nearest, of what a search may see, and is built once,
// whoever dies at it. What a search finds at all is in semantic.test.ts.
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Queryable } from "../../src/db/database.ts";
import { toConditions } from "../../src/store/filter.ts";
import { type Near, selectNearIndex } from "../../src/store/pgvector.sql.ts";
import { buildNearIndex, findPgvector } from "../../src/store/pgvector.ts";
import { rankExactly } from "../../src/store/rank.ts";
import { rankNear } from "../../src/store/rank-near.ts";
import type { Place } from "../../src/store/search.sql.ts";
import { insertVectors } from "../../src/store/vectors.sql.ts";
import { toUnit } from "../../src/store/vectors.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { findPgvectorServer, withoutExtensions } from "../helpers/pgvector.ts";

const log = pino({ level: "silent" });
const server = await findPgvectorServer();
const DIMS = 16;
const INDEX_ID = 1;
const ITEMS = 8_000;

/** Always the same numbers, from 0 to 1 (mulberry32). */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
const random = createRandom(7);
const randomVector = () => Array.from({ length: DIMS }, () => random() + random() - 1);

it.skipIf(server)("no pgvector in this PostgreSQL, and no TEST_PGVECTOR_URL: nothing is tried", () =>
  expect(server).toBeUndefined(),
);

describe.skipIf(!server)("pgvector", () => {
  let database: TestDatabase;
  let near: Near;

  beforeAll(async () => {
    database = await createTestDatabase(server ? { server } : {});
    const found = await findPgvector(database.db, DIMS, log);
    if (!found) throw new Error("pgvector cannot be used");
    near = found;
    // Some items have several vectors.
    await database.db.query(
      `insert into heddle.store_items (owner, namespace, key, value, index_id, expires_at, created_at, updated_at)
       select case when n % 4 = 0 then 'bob' else 'ann' end, array['a', (n % 4)::text], n::text,
         jsonb_build_object('n', n, 'rare', n % 50 = 1), $1::integer,
         case when n % 11 = 0 then now() - interval '1 minute' end,
         now() + n * interval '1 millisecond', now()
       from generate_series(1, $2::integer) as n`,
      [INDEX_ID, ITEMS],
    );
    const items = await database.db.query<{ item_id: string; key: string }>(
      "select item_id, key from heddle.store_items order by item_id",
    );
    const rows = items.flatMap(({ item_id, key }) =>
      Array.from({ length: Number(key) % 10 === 0 ? 4 : 1 }, (_, position) => ({
        itemId: item_id,
        position,
        embedding: toUnit(randomVector()),
      })),
    );
    for (let at = 0; at < rows.length; at += 1_000) {
      await insertVectors(database.db, rows.slice(at, at + 1_000));
    }
    await buildNearIndex({ db: database.db, near, log, signal: new AbortController().signal });
  });
  afterAll(() => database.drop());

  const everything: Place = { owner: "ann", prefix: [], conditions: toConditions() };
  /** Ranks by the index and exactly; and whether the index was used. */
  async function compare(place: Place, count: number) {
    const question = { place, indexId: INDEX_ID, query: randomVector(), count };
    const plans: string[] = [];
    return database.db.transaction(async (tx) => {
      const watched: Queryable = {
        async query(text, values) {
          if (text.includes("nearest as materialized")) {
            plans.push(JSON.stringify(await tx.query(`explain ${text}`, values)));
          }
          return tx.query(text, values);
        },
      };
      const found = await rankNear(near)(watched, question);
      const [left] = await tx.query<{ seqscan: string }>(
        "select current_setting('enable_seqscan') as seqscan",
      );
      expect(left).toEqual({ seqscan: "on" });
      const expected = await rankExactly(tx, question);
      const wanted = new Set(expected.map(({ itemId }) => itemId));
      expect(found).toHaveLength(expected.length);
      expect(found.map(({ score }) => score)).toEqual(
        found.map(({ score }) => score).toSorted((a, b) => b - a),
      );
      const scores = new Map(expected.map(({ itemId, score }) => [itemId, score]));
      for (const { itemId, score } of found) {
        if (wanted.has(itemId)) expect(score).toBeCloseTo(scores.get(itemId) ?? Number.NaN, 5);
      }
      return {
        found: found.map(({ itemId }) => itemId),
        expected: expected.map(({ itemId }) => itemId),
        recall: found.filter(({ itemId }) => wanted.has(itemId)).length / Math.max(1, wanted.size),
        plans,
      };
    });
  }

  it("finds by its index what an exact search finds, but for one in a hundred, and only what may be seen", async () => {
    const places = [
      everything,
      { ...everything, conditions: toConditions({ n: { $gt: 500 } }) },
      { ...everything, scope: { rare: false } },
    ];
    const recalls: number[] = [];
    for (let turn = 0; turn < 12; turn++) {
      const { recall, plans } = await compare(places[turn % 3] ?? everything, turn % 2 ? 10 : 60);
      expect(plans[0]).toContain("store_vectors_near_16");
      recalls.push(recall);
    }
    expect(recalls.reduce((sum, one) => sum + one) / recalls.length).toBeGreaterThan(0.99);
  });

  it("compares all where a search looks at few vectors, and where its index gives too few", async () => {
    const namespace = await compare({ ...everything, prefix: ["a", "2"] }, 50);
    expect(namespace.plans).toHaveLength(0);
    expect(namespace.found).toEqual(namespace.expected);
    const filtered = await compare({ ...everything, conditions: toConditions({ rare: true }) }, 50);
    expect(filtered.found).toEqual(filtered.expected);
    const all = await compare(everything, 5_000);
    expect(all.plans).toHaveLength(0);
    expect(all.recall).toBe(1);
  });

  it("gives the pages of one search from one order", async () => {
    const query = randomVector();
    const rank = (count: number) =>
      database.db.transaction((tx) =>
        rankNear(near)(tx, { place: everything, indexId: INDEX_ID, query, count }),
      );
    expect((await rank(60)).slice(0, 10)).toEqual(await rank(10));
  });

  it("gives the oldest first to a query of zeros, as an exact search does", async () => {
    const question = { place: everything, indexId: INDEX_ID, query: randomVector().map(() => 0), count: 3 };
    await database.db.transaction(async (tx) =>
      expect(await rankNear(near)(tx, question)).toEqual(await rankExactly(tx, question)),
    );
  });

  it("takes vectors of other dimensions, of zeros, and of very small numbers beside it", async () => {
    const [item] = await database.db.query<{ item_id: string }>(
      "select item_id from heddle.store_items where key = '1'",
    );
    const row = (position: number, numbers: number[]) => ({
      itemId: item?.item_id ?? "",
      position,
      embedding: toUnit(numbers),
    });
    await insertVectors(database.db, [
      row(101, [1, 2, 3]),
      row(
        102,
        randomVector().map(() => 0),
      ),
      row(
        103,
        randomVector().map((_, at) => (at === 0 ? 1 : 1e-44)),
      ),
    ]);
    expect((await compare({ ...everything, owner: "bob" }, 10)).recall).toBeGreaterThan(0.8);
    await database.db.query("delete from heddle.store_vectors where position > 100");
  });

  it("is built by one of many, also after one that has died at it", async () => {
    const { db, drop } = await createTestDatabase(server ? { server } : {});
    const there = await findPgvector(db, DIMS, log);
    if (!there) throw new Error("pgvector cannot be used");
    const messages: string[] = [];
    const listening = pino({ level: "info" }, { write: (line) => void messages.push(line) });
    const { signal } = new AbortController();
    const builds = () =>
      Promise.all([1, 2, 3].map(() => buildNearIndex({ db, near: there, log: listening, signal })));
    await builds();
    expect(await selectNearIndex(db, there)).toEqual([{ valid: true }]);
    await db.query("update pg_index set indisvalid = false where indexrelid = $1::regclass", [
      "heddle.store_vectors_near_16",
    ]);
    await builds();
    expect(await selectNearIndex(db, there)).toEqual([{ valid: true }]);
    expect(messages.filter((line) => line.includes("is built"))).toHaveLength(2);
    await drop();
  });

  it("is built by PostgreSQL to its end when the server stops meanwhile", async () => {
    const { db, drop } = await createTestDatabase(server ? { server } : {});
    const there = await findPgvector(db, DIMS, log);
    if (!there) throw new Error("pgvector cannot be used");
    const stopping = new AbortController();
    // The build waits for whoever writes.
    await db.transaction(async (tx) => {
      await tx.query("lock table heddle.store_vectors in row exclusive mode");
      const building = buildNearIndex({ db, near: there, log, signal: stopping.signal });
      const underWay = () =>
        db.query("select from pg_stat_progress_create_index where datname = current_database()");
      await expect.poll(underWay).toHaveLength(1);
      stopping.abort();
      await building;
    });
    await expect.poll(() => selectNearIndex(db, there)).toEqual([{ valid: true }]);
    await drop();
  });

  it("is left alone where it cannot be used, and says why", async () => {
    const said: { reason?: string }[] = [];
    const listening = pino({ level: "info" }, { write: (line) => void said.push(JSON.parse(line)) });
    expect(await findPgvector(database.db, 4_001, listening)).toBeUndefined();
    const fresh = await createTestDatabase(server ? { server } : {});
    expect(await findPgvector(withoutExtensions(fresh.db), DIMS, listening)).toBeUndefined();
    await fresh.drop();
    expect(said.map(({ reason }) => reason)).toEqual([
      "it indexes no more than 4000 dimensions",
      "it cannot be used",
    ]);
  });

  it("may lie in any schema, and is made once by servers that start together", async () => {
    const fresh = await createTestDatabase(server ? { server } : {});
    const together = await Promise.all([1, 2, 3, 4].map(() => findPgvector(fresh.db, DIMS, log)));
    expect(together).toEqual(together.map(() => ({ schema: "public", dims: DIMS })));
    await fresh.db.query('create schema "Other"');
    await fresh.db.query('alter extension vector set schema "Other"');
    const elsewhere = await findPgvector(fresh.db, DIMS, log);
    expect(elsewhere).toEqual({ schema: '"Other"', dims: DIMS });
    if (elsewhere) {
      await buildNearIndex({ db: fresh.db, near: elsewhere, log, signal: new AbortController().signal });
      expect(await selectNearIndex(fresh.db, elsewhere)).toEqual([{ valid: true }]);
      const question = { place: everything, indexId: INDEX_ID, query: randomVector(), count: 3 };
      expect(await fresh.db.transaction((tx) => rankNear(elsewhere)(tx, question))).toEqual([]);
    }
    await fresh.drop();
  });
});
