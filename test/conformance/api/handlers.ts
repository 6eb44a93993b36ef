// Which of a project's rules is asked, and what each kind of filter lets through.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Section, Served } from "./row.ts";

/** With a filter as the rule's answer. */
const filtering = ({ sdk, url }: Served, filter: unknown) =>
  new sdk.Client({
    apiUrl: url,
    defaultHeaders: { "x-filter": JSON.stringify(filter) },
    callerOptions: { maxRetries: 0 },
  });

/** Whether a thread with this metadata is found, and can be read, under a filter. */
async function isSeen(served: Served, metadata: Record<string, unknown>, filter: unknown): Promise<boolean> {
  const { thread_id } = await served.client.threads.create({ metadata });
  const { threads } = filtering(served, filter);
  const [found] = await threads.search({ ids: [thread_id] });
  const read = await threads.get(thread_id).catch((error: unknown) => {
    assert.match(String(error), /HTTP 404/);
    return undefined;
  });
  assert.equal(found?.thread_id, read?.thread_id);
  return found !== undefined;
}

export const handlersSection: Section = {
  title: "Handlers of `auth`",
  server: "handlers",
  rows: [
    {
      of: "on: which handler is asked",
      heddle: "one alone: that of resource:action, else of resource, else of *:action, else of *",
      async check({ client }) {
        const { thread_id, metadata } = await client.threads.create();
        assert.deepEqual(metadata, { by: "threads:create" });
        const patched = (await client.threads.update(thread_id, { metadata: {} })) as { metadata: object };
        assert.deepEqual(patched.metadata, { by: "threads" });
        const assistant = await client.assistants.create({ graphId: "steps" });
        assert.deepEqual(assistant.metadata, { by: "*:create" });
        await assert.rejects(client.assistants.search(), /HTTP 403: Not authorized/);
      },
    },
    {
      of: "filters: a value, $eq",
      heddle: "show what has this value in its metadata",
      async check(served) {
        for (const filter of [{ owner: "ann" }, { owner: { $eq: "ann" } }]) {
          assert.equal(await isSeen(served, { owner: "ann" }, filter), true);
          assert.equal(await isSeen(served, { owner: "bob" }, filter), false);
          assert.equal(await isSeen(served, { owner: ["ann"] }, filter), false);
          assert.equal(await isSeen(served, {}, filter), false);
        }
      },
    },
    {
      of: "filters: $contains",
      heddle: "show what has a list with the value, or with all values of a list, in its metadata",
      async check(served) {
        const teams = ["blue", "red"];
        for (const wanted of ["blue", ["blue"], ["red", "blue"]])
          assert.equal(await isSeen(served, { teams }, { teams: { $contains: wanted } }), true);
        for (const wanted of ["green", ["blue", "green"]])
          assert.equal(await isSeen(served, { teams }, { teams: { $contains: wanted } }), false);
        assert.equal(await isSeen(served, { teams: "blue" }, { teams: { $contains: "blue" } }), false);
        assert.equal(await isSeen(served, {}, { teams: { $contains: "blue" } }), false);
      },
    },
    {
      of: "filters: several keys",
      heddle: "must all hold",
      async check(served) {
        const filter = { owner: "ann", teams: { $contains: "blue" } };
        assert.equal(await isSeen(served, { owner: "ann", teams: ["blue"] }, filter), true);
        assert.equal(await isSeen(served, { owner: "ann", teams: ["red"] }, filter), false);
        assert.equal(await isSeen(served, { owner: "bob", teams: ["blue"] }, filter), false);
      },
    },
    {
      of: "filters: another operator",
      heddle: "is 500: nothing is shown",
      dev: "is left out, so that everything is shown",
      why: "a filter that cannot be kept must not open what it was to close",
      async check(served) {
        await served.client.threads.create();
        const { threads } = filtering(served, { owner: { $ne: "bob" } });
        await assert.rejects(threads.search(), /HTTP 500/);
      },
    },
    {
      of: "filters: the store",
      heddle: "are compared with an item's value, namespace and key: others cannot be read, found or written",
      async check(served) {
        const namespace = [randomUUID()];
        await served.client.store.putItem(namespace, "hers", { owner: "ann" });
        await served.client.store.putItem(namespace, "his", { owner: "bob" });
        const { store } = filtering(served, { owner: "ann" });
        const { items } = await store.searchItems(namespace);
        assert.deepEqual(
          items.map(({ key }) => key),
          ["hers"],
        );
        assert.equal((await store.getItem(namespace, "hers"))?.key, "hers");
        await assert.rejects(store.getItem(namespace, "his"), /HTTP 404/);
        await assert.rejects(store.putItem(namespace, "new", { owner: "bob" }), /HTTP 403/);
        await store.putItem(namespace, "new", { owner: "ann" });
      },
    },
  ],
};
