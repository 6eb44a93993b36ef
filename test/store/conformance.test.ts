// The store beside LangGraph's own InMemoryStore: the same operations, drawn at random, give the same results. Where the
// official one is known to be wrong, the drawing keeps away from it; the tests below say what ours does there.
import { randomBytes } from "node:crypto";
import { HumanMessage } from "@langchain/core/messages";
import { InMemoryStore, type Operation } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createImporter } from "../../src/graphs/importer.ts";
import type { PostgresStore } from "../../src/store/postgres-store.ts";
import { createStore, type Store } from "../../src/store/store.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;
let store: Store;
beforeAll(async () => {
  database = await createTestDatabase();
  store = await createStore({
    db: database.db,
    settings: {},
    file: "/langgraph.json",
    importer: createImporter("/"),
    openai: {},
    log: pino({ level: "silent" }),
  });
});
afterAll(() => database.drop());

/** Keeps a namespace that has lost all its items, and lists it: that is put right. */
class Model extends InMemoryStore {
  /** One after the other: it would read first and write then, whatever the order. */
  async inTurn(operations: Operation[]): Promise<unknown[]> {
    const results: unknown[] = [];
    for (const operation of operations) {
      // A copy: what it gives is changed by a later put.
      results.push(...structuredClone(await this.batch([operation])));
      const { data } = this as unknown as { data: Map<string, Map<string, unknown>> };
      for (const [namespace, items] of data) if (items.size === 0) data.delete(namespace);
    }
    return results;
  }
}

// No label begins with another: the official search takes "a" as the prefix of "ab", too.
const label = fc.constantFrom("ab", "cd", "ef");
const namespace = fc.array(label, { minLength: 1, maxLength: 3 });
const key = fc.constantFrom("k", "l", "m");
const scalar = fc.oneof(
  fc.integer({ min: -2, max: 3 }),
  fc.constantFrom(0.5, 1e21, "2", " 1 ", "", "x", "1e1", "1e999", true, false, null),
);
const value = fc.dictionary(fc.constantFrom("a", "b", "lc"), scalar, { maxKeys: 3 });
const operator = fc.constantFrom("$eq", "$ne", "$gt", "$gte", "$lt", "$lte");
const condition = fc.oneof(
  scalar,
  fc.dictionary(operator, scalar, { minKeys: 1, maxKeys: 2 }),
  fc.record({ $in: fc.array(scalar, { maxLength: 3 }) }),
  fc.record({ $nin: fc.array(scalar, { maxLength: 3 }) }),
  fc.constant({}),
);
const filter = fc.dictionary(fc.constantFrom("a", "b", "lc"), condition, { maxKeys: 2 });
const page = { limit: fc.integer({ min: 1, max: 4 }), offset: fc.integer({ min: 0, max: 3 }) };
const path = fc.array(fc.oneof(label, fc.constant("*")), { maxLength: 3 });

const put = fc.record({ namespace, key, value: fc.option(value, { freq: 4 }) });
const operation: fc.Arbitrary<Operation> = fc.oneof(
  { weight: 5, arbitrary: put },
  { weight: 2, arbitrary: fc.record({ namespace, key }) },
  {
    weight: 2,
    arbitrary: fc.record(
      { namespacePrefix: fc.array(label, { maxLength: 3 }), filter, ...page },
      { requiredKeys: ["namespacePrefix"] },
    ),
  },
  {
    weight: 2,
    arbitrary: fc
      .record(
        {
          prefix: path,
          suffix: path,
          maxDepth: fc.integer({ min: 1, max: 3 }),
          ...page,
        },
        { requiredKeys: ["limit", "offset"] },
      )
      .map(({ prefix, suffix, ...rest }) => ({
        ...rest,
        matchConditions: [
          ...(prefix ? [{ matchType: "prefix" as const, path: prefix }] : []),
          ...(suffix ? [{ matchType: "suffix" as const, path: suffix }] : []),
        ],
      })),
  },
);

/** Without the times, which are two clocks'. */
const plain = (results: unknown[]) =>
  results.map((result) =>
    JSON.parse(
      JSON.stringify(result ?? null, (name, field) =>
        name === "createdAt" || name === "updatedAt" ? undefined : field,
      ),
    ),
  );

let owners = 0;
const open = (): PostgresStore => store.open({ owner: `owner ${owners++}` });

describe("the store", () => {
  it("gives what InMemoryStore gives", async () => {
    let found = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(operation, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
        async (batches) => {
          const model = new Model();
          const ours = open();
          for (const batch of batches) {
            const expected = plain(await model.inTurn(batch));
            const got = plain(await ours.batch(batch));
            for (const [index, operation] of batch.entries()) {
              // The official one groups what it finds by namespace; a page of that is another one.
              if ("namespacePrefix" in operation) {
                expect(got[index].length).toBe(expected[index].length);
                found += got[index].length;
              } else expect(got[index], JSON.stringify(batch)).toEqual(expected[index]);
            }
          }
        },
      ),
      { seed: 4, numRuns: 150 },
    );
    expect(found).toBeGreaterThan(150);
  });

  it("finds and pages through one namespace as InMemoryStore does", async () => {
    const inOne = fc.oneof(
      put.map((one) => ({ ...one, namespace: ["ab", "cd"] })),
      fc.record(
        { namespacePrefix: fc.constantFrom<string[]>(["ab"], ["ab", "cd"], [], ["cd"]), filter, ...page },
        { requiredKeys: ["namespacePrefix"] },
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(inOne, { minLength: 5, maxLength: 30 }), async (operations) => {
        const expected = plain(await new Model().inTurn(operations));
        expect(plain(await open().batch(operations))).toEqual(expected);
      }),
      { seed: 5, numRuns: 150 },
    );
  });

  it("takes a prefix by whole labels, and pages through all namespaces in the order of the puts", async () => {
    const ours = open();
    const namespaces = [["a"], ["ab"], ["a", "b"], ["b"], ["a\u0001"], ["a", "b", "*"], ["a", "%"], ["a b"]];
    for (const [n, namespace] of namespaces.entries()) await ours.put(namespace, "k", { n });
    await ours.put(["a"], "k", { n: 0, again: true });
    const numbers = async (prefix: string[], page = {}) =>
      (await ours.search(prefix, page)).map(({ value }) => value.n);
    expect(await numbers(["a"])).toEqual([0, 2, 5, 6]);
    expect(await numbers(["a", "b"])).toEqual([2, 5]);
    expect(await numbers(["a", "*"])).toEqual([]);
    expect(await numbers([])).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(await numbers([], { limit: 3, offset: 3 })).toEqual([3, 4, 5]);
    expect(await ours.listNamespaces({ prefix: ["a", "*"], maxDepth: 1 })).toEqual([["a"]]);
    expect(await ours.listNamespaces({ suffix: ["*", "b"] })).toEqual([["a", "b"]]);
  });

  it("shows each owner his own, whatever he asks", async () => {
    const [ann, bob] = [open(), open()];
    await ann.put(["a"], "k", { of: "ann" });
    await bob.put(["a"], "k", { of: "bob" });
    await bob.delete(["a"], "none");
    expect(await ann.search([])).toMatchObject([{ value: { of: "ann" } }]);
    expect(await bob.get(["a"], "k")).toMatchObject({ value: { of: "bob" } });
    await bob.delete(["a"], "k");
    expect(await bob.listNamespaces()).toEqual([]);
    expect(await ann.listNamespaces()).toEqual([["a"]]);
  });

  it("does all of a batch or nothing of it", async () => {
    const ours = open();
    await ours.put(["a"], "old", { n: 1 });
    const batch: Operation[] = [
      { namespace: ["a"], key: "old", value: null },
      { namespace: ["a"], key: "new", value: { n: 2 } },
      { namespacePrefix: ["a"], filter: { n: { $near: 1 } } },
    ];
    await expect(ours.batch(batch)).rejects.toMatchObject({
      code: "invalid_request",
      message: expect.stringContaining("$near"),
    });
    expect(await ours.search([])).toMatchObject([{ key: "old" }]);
    await expect(
      ours.batch([batch[0] as Operation, { namespace: [], key: "k", value: {} }]),
    ).rejects.toMatchObject({ code: "namespace_required" });
    expect(await ours.search([])).toMatchObject([{ key: "old" }]);
  });

  it("survives batches that put the same items in other orders at the same time", async () => {
    const ours = open();
    const keys = Array.from({ length: 30 }, (_, n) => `k${n}`);
    const batch = (order: string[], by: number): Operation[] =>
      order.flatMap((key) => [
        { namespace: ["a"], key, value: { by } },
        { namespace: ["a"], key },
      ]);
    await Promise.all(
      Array.from({ length: 8 }, (_, by) => ours.batch(batch(by % 2 ? keys : keys.toReversed(), by))),
    );
    const items = await ours.search(["a"], { limit: 100 });
    expect(items).toHaveLength(30);
    // Each batch is one whole: the last one to be done has written them all.
    expect(new Set(items.map(({ value }) => value.by)).size).toBe(1);
  });

  it("keeps the kinds of value that a graph's state keeps, and gives them back as they were", async () => {
    const ours = open();
    const value = {
      message: new HumanMessage("hello"),
      set: new Set([1]),
      bytes: new Uint8Array([1, 2]),
      "a\0": "b\0\ud800",
      lc: 1,
    };
    await ours.put(["a"], "k", value);
    const item = await ours.get(["a"], "k");
    expect(item?.value.message).toBeInstanceOf(HumanMessage);
    expect(item?.value).toEqual({ ...value, "a\0": undefined, "a\ufffd": "b\ufffd\ufffd" });
    expect(await ours.search([], { filter: { lc: 1 } })).toHaveLength(1);
  });

  it.each([
    ["a key with NUL", ["a"], "\0", "invalid_text"],
    ["half a surrogate pair", ["a", "\ud800"], "k", "invalid_text"],
    ["a label that is no text", [1 as unknown as string], "k", "invalid_request"],
    ["an empty label", ["a", ""], "k", "invalid_request"],
    ["a key that no index takes", ["a"], "k".repeat(2_500), "invalid_request"],
    ["a namespace that no index takes", Array.from({ length: 400 }, () => "a"), "k", "invalid_request"],
  ])("refuses %s", async (_, namespace, key, code) => {
    await expect(open().batch([{ namespace, key, value: {} }])).rejects.toMatchObject({ code });
  });

  it("takes the longest names that it allows", async () => {
    const ours = open();
    // Random, since PostgreSQL compresses what it puts into an index.
    const label = () => randomBytes(6).toString("base64url");
    const namespace = Array.from({ length: 120 }, label);
    const key = randomBytes(360).toString("base64url");
    await ours.batch([{ namespace, key, value: { n: 1 } }]);
    expect(await ours.get(namespace, key)).toMatchObject({ value: { n: 1 } });
  });

  it.each([[[]], ["text"], [7]])("refuses %j as a value", async (value) => {
    await expect(open().put(["a"], "k", value as never)).rejects.toMatchObject({ code: "invalid_request" });
  });
});
