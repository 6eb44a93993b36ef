// Assistants: a graph with a configuration, in versions.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { v5 as uuidV5 } from "uuid";
import type { Section, Served } from "./row.ts";

/** A mark by which a check finds its own assistants again. */
const mark = () => ({ mark: randomUUID() });

const make = ({ client }: Served, own: object = {}) =>
  client.assistants.create({ graphId: "steps", name: "Mine", ...own });

export const assistantSection: Section = {
  title: "Assistants",
  rows: [
    {
      of: "the assistant of a graph",
      heddle: "is there from the start; its id is that of every server, and the graph's name stands for it",
      async check({ client }) {
        const assistant = await client.assistants.get("steps");
        assert.equal(assistant.assistant_id, uuidV5("steps", "6ba7b821-9dad-11d1-80b4-00c04fd430c8"));
        assert.equal(assistant.name, "steps");
        assert.equal(assistant.metadata?.created_by, "system");
        assert.equal((await client.assistants.get(assistant.assistant_id)).graph_id, "steps");
      },
    },
    {
      of: "POST /assistants",
      heddle: "makes version 1 with config, context, metadata, name and description",
      async check(served) {
        const { client } = served;
        const own = {
          config: { configurable: { model_name: "m" }, recursion_limit: 7 },
          context: { tone: "dry" },
          metadata: mark(),
          description: "what it is for",
        };
        const made = await make(served, own);
        const expected = { graph_id: "steps", name: "Mine", version: 1, ...own };
        assert.partialDeepStrictEqual(made, expected);
        assert.partialDeepStrictEqual(await client.assistants.get(made.assistant_id), expected);
      },
    },
    {
      of: "POST /assistants: if_exists",
      heddle: "answers 409 `Assistant already exists`, or gives what is there with `do_nothing`",
      async check(served) {
        const { client } = served;
        const { assistant_id: assistantId } = await make(served);
        const again = { graphId: "steps", assistantId };
        await assert.rejects(client.assistants.create(again), /HTTP 409: Assistant already exists/);
        const found = await client.assistants.create({ ...again, ifExists: "do_nothing", name: "other" });
        assert.deepEqual([found.assistant_id, found.name], [assistantId, "Mine"]);
      },
    },
    {
      of: "POST /assistants: graph_id",
      heddle: "is 404 when no such graph is served",
      dev: "takes it, and fails when it is used",
      why: "an assistant that cannot run is a mistake that is best told at once",
      async check({ client }) {
        await assert.rejects(client.assistants.create({ graphId: "nobody" }), /HTTP 404/);
      },
    },
    {
      of: "GET /assistants/:id",
      heddle: "is 404 `Assistant not found` for what is not there",
      async check({ client }) {
        await assert.rejects(client.assistants.get(randomUUID()), /HTTP 404: Assistant not found/);
      },
    },
    {
      of: "POST /assistants/search",
      heddle: "finds by graph, metadata and a part of the name, whatever its case",
      async check(served) {
        const { client } = served;
        const metadata = mark();
        const { assistant_id } = await make(served, { metadata, name: "Some NAME here" });
        await make(served, { metadata, name: "another" });
        const found = await client.assistants.search({ graphId: "steps", metadata, name: "name" });
        assert.deepEqual(
          found.map((one) => one.assistant_id),
          [assistant_id],
        );
        assert.deepEqual(await client.assistants.search({ graphId: "nested", metadata }), []);
      },
    },
    {
      of: "POST /assistants/search: sort_by, sort_order",
      heddle: "are heeded",
      dev: "always the newest first",
      why: "it is what the request asks for",
      async check(served) {
        const { client } = served;
        const metadata = mark();
        for (const name of ["b", "c", "a"]) await make(served, { metadata, name });
        const names = async (sortOrder: "asc" | "desc") =>
          (await client.assistants.search({ metadata, sortBy: "name", sortOrder })).map((one) => one.name);
        assert.deepEqual(await names("asc"), ["a", "b", "c"]);
        assert.deepEqual(await names("desc"), ["c", "b", "a"]);
      },
    },
    {
      of: "POST /assistants/search: limit, offset",
      heddle: "pages; X-Pagination-Total counts what is found, X-Pagination-Next is where to go on",
      dev: "counts one too many on a full page",
      why: "a client that pages must end",
      async check(served) {
        const metadata = mark();
        for (const name of ["a", "b", "c"]) await make(served, { metadata, name });
        const page = (offset: number) =>
          served.request("POST", "/assistants/search", { metadata, limit: 2, offset, sort_by: "name" });
        const [first, last] = [await page(0), await page(2)];
        assert.deepEqual([first.json.length, last.json.length], [2, 1]);
        assert.equal(first.headers.get("x-pagination-total"), "3");
        assert.equal(first.headers.get("x-pagination-next"), "2");
        assert.equal(last.headers.get("x-pagination-next"), null);
      },
    },
    {
      of: "POST /assistants/search: select",
      heddle: "gives the fields that are asked for",
      dev: "is ignored",
      why: "the SDK has it",
      async check(served) {
        const metadata = mark();
        await make(served, { metadata });
        const { json } = await served.request("POST", "/assistants/search", { metadata, select: ["name"] });
        assert.deepEqual(json, [{ name: "Mine" }]);
      },
    },
    {
      of: "POST /assistants/count",
      heddle: "counts with the filters of the search",
      async check(served) {
        const metadata = mark();
        await make(served, { metadata });
        await make(served, { metadata });
        assert.equal(await served.client.assistants.count({ metadata, graphId: "steps" }), 2);
      },
    },
    {
      of: "PATCH /assistants/:id",
      heddle: "makes a new version; metadata is merged, the rest replaced",
      async check(served) {
        const { client } = served;
        const { assistant_id } = await make(served, { metadata: { a: 1, b: 1 } });
        const patched = await client.assistants.update(assistant_id, {
          metadata: { b: 2 },
          config: { tags: ["x"] },
          name: "New",
        });
        assert.partialDeepStrictEqual(patched, { version: 2, metadata: { a: 1, b: 2 }, name: "New" });
        assert.deepEqual(patched.config, { tags: ["x"] });
      },
    },
    {
      of: "POST /assistants/:id/versions",
      heddle: "lists the versions, newest first",
      async check(served) {
        const { client } = served;
        const { assistant_id } = await make(served);
        await client.assistants.update(assistant_id, { name: "two" });
        const versions = await client.assistants.getVersions(assistant_id);
        assert.deepEqual(
          versions.map(({ version, name }) => [version, name]),
          [
            [2, "two"],
            [1, "Mine"],
          ],
        );
      },
    },
    {
      of: "POST /assistants/:id/latest",
      heddle: "makes an earlier version the current one",
      async check(served) {
        const { client } = served;
        const { assistant_id } = await make(served, { config: { tags: ["one"] } });
        await client.assistants.update(assistant_id, { name: "two", config: { tags: ["two"] } });
        const current = await client.assistants.setLatest(assistant_id, 1);
        assert.partialDeepStrictEqual(current, { version: 1, name: "Mine", config: { tags: ["one"] } });
        await assert.rejects(client.assistants.setLatest(assistant_id, 9), /HTTP 404/);
      },
    },
    {
      of: "DELETE /assistants/:id",
      heddle: "removes it; it is 404 from then on",
      async check(served) {
        const { client } = served;
        const { assistant_id } = await make(served);
        await client.assistants.delete(assistant_id);
        await assert.rejects(client.assistants.get(assistant_id), /HTTP 404: Assistant not found/);
        await assert.rejects(client.assistants.delete(assistant_id), /HTTP 404/);
      },
    },
    {
      of: "DELETE /assistants/:id: delete_threads",
      heddle: "removes the threads that it has run",
      async check(served) {
        const { client } = served;
        const { assistant_id } = await make(served);
        const { thread_id } = await client.threads.create();
        await client.runs.wait(thread_id, assistant_id, { input: { plan: ["add"] } });
        await client.assistants.delete(assistant_id, { deleteThreads: true });
        await assert.rejects(client.threads.get(thread_id), /HTTP 404/);
      },
    },
    {
      of: "GET /assistants/:id/graph",
      heddle: "draws nodes and edges; with xray also those of subgraphs",
      async check({ client }) {
        const flat = await client.assistants.getGraph("nested");
        const ids = (graph: { nodes: { id: string | number }[] }) => graph.nodes.map(({ id }) => String(id));
        assert.deepEqual(ids(flat), ["__start__", "outer_step", "middle", "__end__"]);
        const deep = ids(await client.assistants.getGraph("nested", { xray: true }));
        assert.ok(
          deep.some((id) => id.startsWith("middle:inner")),
          deep.join(),
        );
      },
    },
    {
      of: "GET /assistants/:id/graph: xray as a depth",
      heddle: "goes as deep as it says",
      dev: "takes only true",
      why: "the platform has it",
      async check({ client }) {
        const { nodes } = await client.assistants.getGraph("nested", { xray: 1 });
        const ids = nodes.map(({ id }) => String(id));
        assert.ok(ids.includes("middle:middle_step"), ids.join());
        assert.ok(ids.includes("middle:inner"), ids.join());
      },
    },
    {
      of: "GET /assistants/:id/schemas",
      heddle: "gives JSON schemas of input, output, state and configuration",
      async check({ client }) {
        const schemas = await client.assistants.getSchemas("steps");
        assert.equal(schemas.graph_id, "steps");
        const { properties = {} } = schemas.state_schema ?? {};
        assert.deepEqual(Object.keys(properties).sort(), ["done", "plan"]);
        assert.ok(schemas.input_schema);
        assert.ok(schemas.output_schema);
      },
    },
    {
      of: "GET /assistants/:id/subgraphs",
      heddle: "gives the schemas of the subgraphs, all of them with recurse",
      async check({ client }) {
        assert.deepEqual(Object.keys(await client.assistants.getSubgraphs("nested")), ["middle"]);
        const all = await client.assistants.getSubgraphs("nested", { recurse: true });
        assert.deepEqual(Object.keys(all).sort(), ["middle", "middle|inner"]);
        const one = await client.assistants.getSubgraphs("nested", { namespace: "middle" });
        assert.deepEqual(Object.keys(one), ["middle"]);
      },
    },
    {
      of: "an assistant's config and context",
      heddle: "are what its runs get, under what the run brings",
      async check({ client }) {
        const { assistant_id } = await client.assistants.create({
          graphId: "made",
          config: { configurable: { node: "from_assistant", kept: "yes" } },
          context: { tone: "dry", kept: "yes" },
        });
        const values = await client.runs.wait(null, assistant_id, {
          input: {},
          config: { configurable: { node: "from_run" } },
          context: { tone: "warm" },
        });
        assert.partialDeepStrictEqual(values, {
          seen: {
            node: "from_run",
            access: "threads.create_run",
            ids: true,
            own: { kept: "yes" },
            context: { tone: "warm", kept: "yes" },
          },
        });
      },
    },
    {
      of: "PATCH /assistants/:id: {}",
      heddle: "makes a new version, too",
      async check(served) {
        const { assistant_id } = await make(served);
        const { json } = await served.request("PATCH", `/assistants/${assistant_id}`, {});
        assert.equal(json.version, 2);
      },
    },
    {
      of: "POST /assistants/:id/versions, POST /assistants/:id/latest: what is not there",
      heddle: "is 404 and says what",
      async check(served) {
        const { client } = served;
        const { assistant_id } = await make(served);
        await assert.rejects(
          client.assistants.setLatest(assistant_id, 9),
          /HTTP 404: Assistant version not found/,
        );
        await assert.rejects(client.assistants.getVersions(randomUUID()), /HTTP 404: Assistant /);
      },
    },
    {
      of: "DELETE /assistants/:id of a graph's own",
      heddle: "is 409",
      dev: "deletes it until the next start",
      why: "the graph could not be run any more",
      async check({ client }) {
        const { assistant_id } = await client.assistants.get("steps");
        await assert.rejects(client.assistants.delete(assistant_id), /HTTP 409/);
        await client.runs.wait(null, "steps", { input: { plan: ["add"] } });
      },
    },
    {
      of: "GET /assistants/:id/subgraphs: the schemas",
      heddle: "are called state, input, output and config",
      async check({ request }) {
        const { json } = await request("GET", "/assistants/nested/subgraphs");
        for (const key of ["state", "input", "output", "config"]) assert.ok(key in json.middle, key);
      },
    },
  ],
};
