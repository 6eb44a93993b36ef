// The store: items by namespace and key, search, namespaces.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Section } from "./row.ts";

/** A namespace of one check's own. */
const fresh = () => `n-${randomUUID()}`;

export const storeSection: Section = {
  title: "Store",
  rows: [
    {
      of: "PUT /store/items",
      heddle: "puts an item, or another value in its place, and answers 204",
      async check({ client, request }) {
        const namespace = [fresh(), "deeper"];
        await client.store.putItem(namespace, "k", { n: 1, nested: { list: [1, "a", null] } });
        const first = await client.store.getItem(namespace, "k");
        assert.deepEqual(first?.value, { n: 1, nested: { list: [1, "a", null] } });
        const { status, text } = await request("PUT", "/store/items", {
          namespace,
          key: "k",
          value: { n: 2 },
        });
        assert.deepEqual([status, text], [204, ""]);
        const second = await client.store.getItem(namespace, "k");
        assert.deepEqual(second?.value, { n: 2 });
        assert.equal(second.createdAt, first?.createdAt);
        assert.ok(second.updatedAt >= second.createdAt);
      },
    },
    {
      of: "PUT /store/items: namespace",
      heddle: "is 400 `Namespace is required` when it is empty, 422 when a label is empty or has a period",
      async check({ request }) {
        const put = (namespace: string[]) =>
          request("PUT", "/store/items", { namespace, key: "k", value: {} });
        const none = await put([]);
        assert.deepEqual([none.status, none.text], [400, "Namespace is required"]);
        const period = await put(["a.b"]);
        assert.equal(period.status, 422);
        assert.equal(period.text, "Namespace labels cannot be empty or contain periods. Received: a.b");
      },
    },
    {
      of: "PUT /store/items: ttl",
      heddle: "is the item's time in minutes; null for ever; left out as `store.ttl.default_ttl` says",
      dev: "ignores it",
      why: "the platform has it, and the SDK sends it",
      async check({ client }) {
        const namespace = [fresh()];
        await client.store.putItem(namespace, "gone", {}, { ttl: 1e-9 });
        await client.store.putItem(namespace, "kept", {}, { ttl: null });
        assert.equal(await client.store.getItem(namespace, "gone"), null);
        assert.equal((await client.store.searchItems(namespace)).items.length, 1);
      },
    },
    {
      of: "PUT /store/items: index",
      heddle: "false, or the fields to embed for semantic search",
      dev: "ignores it",
      why: "the platform has it; see docs/store.md",
      async check({ client }) {
        const namespace = [fresh()];
        await client.store.putItem(namespace, "k", { a: "text" }, { index: false });
        await client.store.putItem(namespace, "l", { a: "text" }, { index: ["a"] });
        assert.equal((await client.store.searchItems(namespace)).items.length, 2);
      },
    },
    {
      of: "GET /store/items",
      heddle: "gives the item, with `created_at` and `updated_at`",
      async check({ client, request }) {
        const label = fresh();
        await client.store.putItem([label, "b"], "k", { n: 1 });
        const { json } = await request("GET", `/store/items?namespace=${label}.b&key=k`);
        assert.deepEqual(Object.keys(json).toSorted(), [
          "created_at",
          "key",
          "namespace",
          "updated_at",
          "value",
        ]);
        assert.deepEqual(json.namespace, [label, "b"]);
        assert.match(json.created_at, /^\d{4}-\d\d-\d\dT[\d:.]+Z$/);
      },
    },
    {
      of: "GET /store/items of an item that is not there",
      heddle: "is 200 with null",
      async check({ client, request }) {
        assert.equal(await client.store.getItem([fresh()], "k"), null);
        const { status, text } = await request("GET", `/store/items?namespace=${fresh()}&key=k`);
        assert.deepEqual([status, text], [200, "null"]);
      },
    },
    {
      of: "GET /store/items: refresh_ttl",
      heddle: "begins the item's time anew, or does not, whatever `store.ttl.refresh_on_read` says",
      dev: "ignores it",
      why: "the platform has it, and the SDK sends it",
      async check({ client }) {
        const namespace = [fresh()];
        await client.store.putItem(namespace, "k", {}, { ttl: 5 });
        assert.ok(await client.store.getItem(namespace, "k", { refreshTtl: true }));
        assert.ok(await client.store.getItem(namespace, "k", { refreshTtl: false }));
      },
    },
    {
      of: "DELETE /store/items",
      heddle: "answers 204, also when there is no such item",
      async check({ client, request }) {
        const namespace = [fresh()];
        await client.store.putItem(namespace, "k", {});
        await client.store.deleteItem(namespace, "k");
        assert.equal(await client.store.getItem(namespace, "k"), null);
        const again = await request("DELETE", "/store/items", { namespace, key: "k" });
        assert.equal(again.status, 204);
      },
    },
    {
      of: "POST /store/items/search",
      heddle: "gives the items under a prefix of whole labels, in the order in which they were made",
      dev: "takes `a` for a prefix of `ab`, too",
      why: "another's namespace must not be found by a name that begins like it",
      async check({ client }) {
        const label = fresh();
        await client.store.putItem([label], "1", { n: 1 });
        await client.store.putItem([`${label}b`], "2", { n: 2 });
        await client.store.putItem([label, "b"], "3", { n: 3 });
        await client.store.putItem([label], "1", { n: 1 });
        const { items } = await client.store.searchItems([label]);
        assert.deepEqual(
          items.map(({ key }) => key),
          ["1", "3"],
        );
        assert.ok(items.every((item) => item.createdAt && item.updatedAt && !("score" in item)));
      },
    },
    {
      of: "POST /store/items/search: limit, offset",
      heddle: "page; 10 and 0 when left out",
      async check({ client }) {
        const namespace = [fresh()];
        for (let n = 0; n < 12; n++) await client.store.putItem(namespace, `${n}`, { n });
        const page = async (options = {}) =>
          (await client.store.searchItems(namespace, options)).items.map(({ value }) => value.n);
        assert.equal((await page()).length, 10);
        assert.deepEqual(await page({ limit: 3, offset: 10 }), [10, 11]);
      },
    },
    {
      of: "POST /store/items/search: filter",
      heddle: "a value, or $eq $ne $gt $gte $lt $lte $in $nin; another operator is 422",
      dev: "takes an unknown operator for a value",
      why: "a filter that is not understood must not look like one that finds nothing",
      async check({ client, request }) {
        const namespace = [fresh()];
        for (let n = 0; n < 4; n++) await client.store.putItem(namespace, `${n}`, { n, even: n % 2 === 0 });
        const found = async (filter: Record<string, unknown>) =>
          (await client.store.searchItems(namespace, { filter })).items.map(({ value }) => value.n);
        assert.deepEqual(await found({ even: true }), [0, 2]);
        assert.deepEqual(await found({ n: { $gt: 0, $lte: 2 } }), [1, 2]);
        assert.deepEqual(await found({ n: { $ne: 1 }, even: false }), [3]);
        assert.deepEqual(await found({ n: { $in: [0, 3] } }), [0, 3]);
        const { status, text } = await request("POST", "/store/items/search", {
          namespace_prefix: namespace,
          filter: { n: { $near: 1 } },
        });
        assert.equal(status, 422);
        assert.match(text, /\$near/);
      },
    },
    {
      of: "POST /store/items/search: query",
      heddle: "ranks by similarity when langgraph.json has `store.index`; without it, it is ignored",
      dev: "always ignores it",
      why: "the platform ranks",
      async check({ client }) {
        const namespace = [fresh()];
        await client.store.putItem(namespace, "k", { text: "a" });
        const { items } = await client.store.searchItems(namespace, { query: "anything" });
        assert.equal(items.length, 1);
      },
    },
    {
      of: "POST /store/namespaces",
      heddle: "lists the namespaces that hold items, by prefix, suffix and depth, with `*` for any label",
      dev: "lists also those whose items are all deleted",
      why: "what is gone is gone",
      async check({ client }) {
        const label = fresh();
        for (const rest of [
          ["a", "x"],
          ["a", "y"],
          ["b", "x"],
        ]) {
          await client.store.putItem([label, ...rest], "k", {});
        }
        await client.store.putItem([label, "c"], "k", {});
        await client.store.deleteItem([label, "c"], "k");
        const list = async (options: Parameters<typeof client.store.listNamespaces>[0]) =>
          (await client.store.listNamespaces({ prefix: [label], ...options })).namespaces;
        assert.deepEqual(await list({}), [
          [label, "a", "x"],
          [label, "a", "y"],
          [label, "b", "x"],
        ]);
        assert.deepEqual(await list({ suffix: ["x"] }), [
          [label, "a", "x"],
          [label, "b", "x"],
        ]);
        assert.deepEqual(await list({ prefix: [label, "*", "y"] }), [[label, "a", "y"]]);
        assert.deepEqual(await list({ maxDepth: 2, limit: 1, offset: 1 }), [[label, "b"]]);
      },
    },
    {
      of: "an item's value in the store's form of another class",
      heddle: "comes back as the data that it was",
      async check({ client }) {
        const namespace = [fresh()];
        const value = {
          lc: 1,
          type: "constructor",
          id: ["langchain_core", "messages", "SystemMessage"],
          kwargs: {},
        };
        await client.store.putItem(namespace, "k", value);
        assert.deepEqual((await client.store.getItem(namespace, "k"))?.value, value);
      },
    },
  ],
};
