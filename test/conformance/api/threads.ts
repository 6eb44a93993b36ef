// Threads: made, found, changed, copied, removed.
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Section, Served } from "./row.ts";

const mark = () => ({ mark: randomUUID() });

/** A thread on which `steps` has done this. */
async function done({ client }: Served, plan: readonly string[], metadata: object = {}): Promise<string> {
  const { thread_id } = await client.threads.create({ metadata: { ...metadata } });
  await client.runs.wait(thread_id, "steps", { input: { plan }, raiseError: false });
  return thread_id;
}

export const threadSection: Section = {
  title: "Threads",
  rows: [
    {
      of: "POST /threads",
      heddle: "makes an idle thread with the metadata; it has no values yet",
      async check({ client }) {
        const threadId = randomUUID();
        const thread = await client.threads.create({ threadId, metadata: { a: 1 } });
        assert.partialDeepStrictEqual(thread, { thread_id: threadId, status: "idle", metadata: { a: 1 } });
        assert.ok(!("values" in thread));
      },
    },
    {
      of: "POST /threads: if_exists",
      heddle: "answers 409 `Thread already exists`, or gives what is there with `do_nothing`",
      async check({ client }) {
        const { thread_id: threadId } = await client.threads.create({ metadata: { a: 1 } });
        await assert.rejects(client.threads.create({ threadId }), /HTTP 409: Thread already exists/);
        const found = await client.threads.create({ threadId, ifExists: "do_nothing" });
        assert.deepEqual(found.metadata, { a: 1 });
      },
    },
    {
      of: "POST /threads: supersteps",
      heddle: "makes the states that the steps say",
      async check({ client }) {
        const { thread_id } = await client.threads.create({
          graphId: "steps",
          supersteps: [
            { updates: [{ values: { plan: ["add"] }, asNode: "__input__" }] },
            { updates: [{ values: { plan: [], done: ["copied"] }, asNode: "act" }] },
          ],
        });
        const state = await client.threads.getState(thread_id);
        assert.deepEqual(state.values, { plan: [], done: ["copied"] });
        assert.deepEqual(state.next, []);
      },
    },
    {
      of: "POST /threads: ttl",
      heddle: "is its time in minutes from its last activity; `include=ttl` tells when it ends",
      dev: "is ignored",
      why: "the platform has it",
      async check({ request }) {
        const made = await request("POST", "/threads", { ttl: { ttl: 60, strategy: "delete" } });
        const { json } = await request("GET", `/threads/${made.json.thread_id}?include=ttl`);
        assert.partialDeepStrictEqual(json.ttl, { strategy: "delete", ttl_minutes: 60 });
        const minutes = (Date.parse(json.ttl.expires_at) - Date.parse(made.json.created_at)) / 60_000;
        assert.ok(minutes >= 60 && minutes < 61, String(minutes));
        const { status: wrong, text } = await request("POST", "/threads", { ttl: { ttl: "soon" } });
        assert.equal(wrong, 422);
        assert.match(text, /ttl/);
      },
    },
    {
      of: "GET /threads/:id",
      heddle: "gives it with its values; 404 `Thread with ID … not found` when it is not there",
      async check(served) {
        const threadId = await done(served, ["add"]);
        const thread = await served.client.threads.get(threadId);
        assert.partialDeepStrictEqual(thread, {
          status: "idle",
          values: { done: ["add"] },
          metadata: { graph_id: "steps" },
        });
        const nobody = randomUUID();
        await assert.rejects(
          served.client.threads.get(nobody),
          new RegExp(`HTTP 404: Thread with ID ${nobody} not found`),
        );
      },
    },
    {
      of: "PATCH /threads/:id",
      heddle: "merges metadata, key by key",
      async check({ client }) {
        const { thread_id } = await client.threads.create({ metadata: { a: 1, b: 1 } });
        const patched = await client.threads.update(thread_id, { metadata: { b: 2 } });
        assert.deepEqual(patched.metadata, { a: 1, b: 2 });
      },
    },
    {
      of: "PATCH /threads/:id: Prefer: return=minimal",
      heddle: "answers 204 without a body",
      dev: "is ignored",
      why: "newer SDKs send it",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create();
        const headers = { prefer: "return=minimal" };
        const { status, text } = await request(
          "PATCH",
          `/threads/${thread_id}`,
          { metadata: { a: 1 } },
          headers,
        );
        assert.deepEqual([status, text], [204, ""]);
        assert.deepEqual((await client.threads.get(thread_id)).metadata, { a: 1 });
      },
    },
    {
      of: "DELETE /threads/:id",
      heddle: "removes it with all it has; what runs on it is stopped",
      dev: "lets a run go on",
      why: "nobody could see what it does",
      async check(served) {
        const threadId = await done(served, ["add"]);
        const { client } = served;
        const run = await client.runs.create(threadId, "steps", {
          input: { plan: Array.from({ length: 100 }, () => "wait") },
        });
        await client.threads.delete(threadId);
        await assert.rejects(client.runs.get(threadId, run.run_id), /HTTP 404/);
        const active = async () =>
          (await served.request("GET", "/metrics")).text.match(/^heddle_runs_active (\d+)/m)?.[1];
        for (let tries = 0; (await active()) !== "0"; tries++) {
          assert.ok(tries < 100, "the run goes on");
          await new Promise((resolve) => setTimeout(resolve, 100));
        }
        await assert.rejects(client.threads.get(threadId), /HTTP 404/);
        await assert.rejects(client.threads.delete(threadId), /HTTP 404/);
      },
    },
    {
      of: "POST /threads/search",
      heddle: "finds by metadata, status, ids and values",
      dev: "threads without values pass any filter of values",
      why: "they do not have what is asked for",
      async check(served) {
        const { client } = served;
        const metadata = mark();
        const [one, other] = [await done(served, ["add"], metadata), await done(served, ["ask"], metadata)];
        await client.threads.create({ metadata });
        const ids = async (query: object) =>
          (await client.threads.search({ metadata, ...query })).map((thread) => thread.thread_id).sort();
        assert.equal((await ids({})).length, 3);
        assert.deepEqual(await ids({ status: "interrupted" }), [other]);
        assert.deepEqual(await ids({ ids: [one] }), [one]);
        const { json } = await served.request("POST", "/threads/search", {
          metadata,
          values: { done: ["add"] },
        });
        assert.deepEqual(
          json.map((thread: { thread_id: string }) => thread.thread_id),
          [one],
        );
      },
    },
    {
      of: "POST /threads/search: sort_by, limit, offset",
      heddle: "sorts and pages; the headers say how many there are and where to go on",
      dev: "counts one too many on a full page",
      why: "a client that pages must end",
      async check({ client, request }) {
        const metadata = mark();
        const made: string[] = [];
        for (let i = 0; i < 3; i++) made.push((await client.threads.create({ metadata })).thread_id);
        const page = { metadata, sort_by: "created_at", sort_order: "asc", limit: 2 };
        const { json, headers } = await request("POST", "/threads/search", page);
        assert.deepEqual(
          json.map((thread: { thread_id: string }) => thread.thread_id),
          made.slice(0, 2),
        );
        assert.equal(headers.get("x-pagination-total"), "3");
        assert.equal(headers.get("x-pagination-next"), "2");
      },
    },
    {
      of: "POST /threads/search: select, extract",
      heddle: "gives the fields, and the values at the paths, that are asked for",
      dev: "are ignored",
      why: "the SDK has them",
      async check(served) {
        const metadata = mark();
        await done(served, ["add"], metadata);
        const { json } = await served.request("POST", "/threads/search", {
          metadata,
          select: ["status"],
          extract: { first: "values.done[0]" },
        });
        assert.deepEqual(json, [{ status: "idle", extracted: { first: "add" } }]);
      },
    },
    {
      of: "POST /threads/count",
      heddle: "counts with the filters of the search",
      async check({ client }) {
        const metadata = mark();
        await client.threads.create({ metadata });
        await client.threads.create({ metadata });
        assert.equal(await client.threads.count({ metadata, status: "idle" }), 2);
      },
    },
    {
      of: "POST /threads/:id/copy",
      heddle: "copies state and history, with the checkpoints' ids",
      async check(served) {
        const { client } = served;
        const threadId = await done(served, ["add", "add"], { a: 1 });
        const copy = await client.threads.copy(threadId);
        const [theirs, ours] = [
          await client.threads.getHistory(threadId),
          await client.threads.getHistory(copy.thread_id),
        ];
        assert.deepEqual(
          ours.map(({ values, checkpoint }) => [values, checkpoint.checkpoint_id]),
          theirs.map(({ values, checkpoint }) => [values, checkpoint.checkpoint_id]),
        );
        assert.ok(ours.every(({ checkpoint }) => checkpoint.thread_id === copy.thread_id));
        await client.runs.wait(copy.thread_id, "steps", { input: { plan: ["add"] } });
        assert.equal((await client.threads.getHistory(threadId)).length, theirs.length);
      },
    },
    {
      of: "POST /threads/prune",
      heddle: "deletes threads, or all but their newest state",
      dev: "404",
      why: "the SDK has it",
      async check(served) {
        const { client, request } = served;
        const [gone, kept] = [await done(served, ["add"]), await done(served, ["add"])];
        const prune = (strategy: string, id: string) =>
          request("POST", "/threads/prune", { thread_ids: [id], strategy });
        assert.deepEqual((await prune("delete", gone)).json, { pruned_count: 1 });
        await assert.rejects(client.threads.get(gone), /HTTP 404/);
        await prune("keep_latest", kept);
        assert.equal((await client.threads.getHistory(kept)).length, 1);
        await client.runs.wait(kept, "steps", { input: { plan: ["add"] } });
        assert.deepEqual((await client.threads.getState<{ done: string[] }>(kept)).values.done, [
          "add",
          "add",
        ]);
      },
    },
    {
      of: "GET /threads/:id/state",
      heddle: "gives values, next, tasks with their interrupts, checkpoint and parent",
      async check(served) {
        const threadId = await done(served, ["add", "ask"]);
        const state = await served.client.threads.getState(threadId);
        assert.partialDeepStrictEqual(state, { values: { plan: ["ask"], done: ["add"] }, next: ["act"] });
        assert.equal(state.tasks[0]?.name, "act");
        assert.deepEqual(state.tasks[0]?.interrupts[0]?.value, { question: "which?" });
        assert.equal(state.checkpoint.thread_id, threadId);
        assert.ok(state.parent_checkpoint?.checkpoint_id);
      },
    },
    {
      of: "GET /threads/:id/state: a thread that never ran",
      heddle: "is empty: {} and no checkpoint",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        const state = await client.threads.getState(thread_id);
        assert.deepEqual([state.values, state.next, state.checkpoint], [{}, [], null]);
      },
    },
    {
      of: "GET /threads/:id/state: subgraphs",
      heddle: "has the states of subgraphs that wait, in their tasks",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        await client.runs.wait(thread_id, "nested", { input: { trail: [], ask: "well?" } });
        const { tasks } = await client.threads.getState(thread_id, undefined, { subgraphs: true });
        const middle = tasks[0]?.state;
        assert.deepEqual(middle?.next, ["inner"]);
        assert.deepEqual(middle?.tasks[0]?.state?.next, ["inner_step"]);
      },
    },
    {
      of: "POST /threads/:id/state",
      heddle: "adds a checkpoint with the values, as a node's",
      async check(served) {
        const { client } = served;
        const threadId = await done(served, ["add"]);
        const updated: object = await client.threads.updateState(threadId, {
          values: { done: ["by hand"], plan: ["add"] },
          asNode: "act",
        });
        const state = await client.threads.getState(threadId);
        assert.partialDeepStrictEqual(updated, {
          checkpoint: { thread_id: threadId, checkpoint_id: state.checkpoint.checkpoint_id },
        });
        assert.deepEqual(state.next, ["act"]);
        assert.deepEqual((await client.threads.get(threadId)).values, {
          plan: ["add"],
          done: ["add", "by hand"],
        });
      },
    },
    {
      of: "POST /threads/:id/state: a run is unfinished",
      heddle: "is 409 `Thread is busy`",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        await client.runs.create(thread_id, "steps", { input: { plan: ["wait"] } });
        await assert.rejects(
          client.threads.updateState(thread_id, { values: { done: ["x"] } }),
          /HTTP 409: Thread is busy/,
        );
      },
    },
    {
      of: "POST /threads/:id/state: a subgraph's",
      heddle: "changes the state of a subgraph that waits",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        await client.runs.wait(thread_id, "nested", { input: { trail: [], ask: "well?" } });
        const read = () => client.threads.getState(thread_id, undefined, { subgraphs: true });
        const middle = (await read()).tasks[0]?.state;
        assert.ok(middle?.checkpoint);
        await client.threads.updateState(thread_id, {
          values: { trail: ["by hand"] },
          checkpoint: middle.checkpoint,
        });
        const { values } = (await read()).tasks[0]?.state ?? {};
        assert.deepEqual((values as { trail: string[] }).trail, ["outer", "middle", "by hand"]);
      },
    },
    {
      of: "PATCH /threads/:id/state",
      heddle: "changes the metadata of the newest checkpoint",
      dev: "404",
      why: "the SDK has it",
      async check(served) {
        const threadId = await done(served, ["add"]);
        await served.client.threads.patchState(threadId, { note: "seen" });
        const { metadata } = await served.client.threads.getState(threadId);
        assert.equal((metadata as Record<string, unknown>).note, "seen");
      },
    },
    {
      of: "GET /threads/:id/state/:checkpoint_id, POST /threads/:id/state/checkpoint",
      heddle: "give an earlier state; subgraphs may be true",
      dev: "the second takes subgraphs only as a text, which the SDK does not send",
      why: "the SDK sends a boolean",
      async check(served) {
        const { client } = served;
        const threadId = await done(served, ["add", "add"]);
        const [, before] = await client.threads.getHistory(threadId);
        assert.ok(before?.checkpoint.checkpoint_id);
        const byId = await client.threads.getState(threadId, before.checkpoint.checkpoint_id);
        assert.deepEqual(byId.values, before.values);
        const first = (await client.threads.getHistory(threadId)).at(-1)?.checkpoint.checkpoint_id ?? "";
        assert.deepEqual((await client.threads.getState(threadId, first)).next, ["__start__"]);
        const byCheckpoint = await client.threads.getState(threadId, before.checkpoint, { subgraphs: true });
        assert.deepEqual(byCheckpoint.values, before.values);
      },
    },
    {
      of: "POST /threads/:id/history",
      heddle: "lists states, newest first; limit, before (a text or a checkpoint) and metadata are heeded",
      dev: "takes `before` only as a text",
      why: "the SDK's type is an object",
      async check(served) {
        const { client } = served;
        const threadId = await done(served, ["add", "add"]);
        const all = await client.threads.getHistory(threadId);
        assert.equal(all.length, 4);
        const [, second] = all;
        const ids = (states: typeof all) => states.map(({ checkpoint }) => checkpoint.checkpoint_id);
        const before = { configurable: { checkpoint_id: second?.checkpoint.checkpoint_id } };
        assert.deepEqual(
          ids(await client.threads.getHistory(threadId, { before, limit: 1 })),
          ids(all).slice(2, 3),
        );
        const inputs = await client.threads.getHistory(threadId, { metadata: { source: "input" } });
        assert.deepEqual(ids(inputs), ids(all).slice(-1));
      },
    },
    {
      of: "thread.status",
      heddle: "is busy while a run is unfinished, then idle, interrupted or error",
      async check(served) {
        const { client } = served;
        const { thread_id } = await client.threads.create();
        const run = await client.runs.create(thread_id, "steps", { input: { plan: ["wait"] } });
        assert.equal((await client.threads.get(thread_id)).status, "busy");
        await client.runs.join(thread_id, run.run_id);
        assert.equal((await client.threads.get(thread_id)).status, "idle");
        const status = async (plan: string[]) => (await client.threads.get(await done(served, plan))).status;
        assert.equal(await status(["ask"]), "interrupted");
        assert.equal(await status(["fail"]), "error");
      },
    },
    {
      of: "thread.interrupts",
      heddle: "are by task, with id and value",
      async check(served) {
        const thread = await served.client.threads.get(await done(served, ["ask"]));
        const [interrupts] = Object.values(thread.interrupts ?? {});
        assert.deepEqual(interrupts?.[0]?.value, { question: "which?" });
        assert.equal(typeof interrupts?.[0]?.id, "string");
      },
    },
    {
      of: "thread.values after a cancelled run",
      heddle: "are those of its last state",
      dev: "are gone",
      why: "what the run has done until then is still there",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        const run = await client.runs.create(thread_id, "steps", {
          input: { plan: ["add", "wait", "wait"] },
        });
        for await (const { event, data } of client.runs.joinStream(thread_id, run.run_id, {
          lastEventId: "-1",
        }))
          if (event === "values" && (data as { done: string[] }).done.length === 1) break;
        await client.runs.cancel(thread_id, run.run_id, true);
        const thread = await client.threads.get<{ done: string[] }>(thread_id);
        const state = await client.threads.getState(thread_id);
        assert.equal(thread.status, "idle");
        assert.equal(thread.values.done[0], "add");
        assert.deepEqual(thread.values, state.values);
        assert.deepEqual(state.next, ["act"]);
      },
    },
    {
      of: "thread.config, thread.metadata after a run",
      heddle: "have the run's configuration, graph_id and assistant_id",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        const config = { configurable: { node: "mine" } };
        await client.runs.wait(thread_id, "made", { input: {}, config });
        const thread = await client.threads.get(thread_id);
        const { assistant_id } = await client.assistants.get("made");
        assert.partialDeepStrictEqual(thread.metadata, { graph_id: "made", assistant_id });
        assert.partialDeepStrictEqual((thread as { config?: object }).config, config);
        // The graph is made anew with it.
        assert.partialDeepStrictEqual(await client.threads.getHistory(thread_id), [
          { tasks: [] },
          { next: ["mine"] },
          { next: ["__start__"] },
        ]);
      },
    },
    {
      of: "PATCH /threads/:id without metadata",
      heddle: "changes nothing, or the time to live alone",
      dev: "400: it needs metadata",
      why: "the SDK sends `ttl` alone",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create({ metadata: { a: 1 } });
        const { status, json } = await request("PATCH", `/threads/${thread_id}`, { ttl: 5 });
        assert.deepEqual([status, json.metadata], [200, { a: 1 }]);
      },
    },
    {
      of: "POST /threads/:id/copy of what is not there",
      heddle: "is 409 `Thread not found`",
      async check({ client }) {
        await assert.rejects(client.threads.copy(randomUUID()), /HTTP 409: Thread not found/);
      },
    },
    {
      of: "state of a thread without a graph",
      heddle: "has no history, and cannot be changed: 400 `… has no graph ID`",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        assert.deepEqual(await client.threads.getHistory(thread_id), []);
        const update = client.threads.updateState(thread_id, { values: { done: ["x"] } });
        await assert.rejects(update, /HTTP 400: .*has no graph ID/);
        const made = client.threads.create({
          supersteps: [{ updates: [{ values: { done: ["x"] }, asNode: "act" }] }],
        });
        await assert.rejects(made, /HTTP 400: .*has no graph ID/);
      },
    },
    {
      of: "GET /threads/:id/state: interrupts, a task's error",
      heddle: "the interrupts of all tasks are at the top, too; an error is JSON of message and name",
      dev: "has them in the tasks only",
      why: "the platform has them",
      async check(served) {
        const read = async (word: string) =>
          (await served.request("GET", `/threads/${await done(served, [word])}/state`)).json;
        const asks = await read("ask");
        assert.deepEqual(asks.interrupts, asks.tasks[0].interrupts);
        const failed = await read("fail");
        assert.partialDeepStrictEqual(JSON.parse(failed.tasks[0].error), {
          message: "asked to fail",
          name: "RangeError",
        });
      },
    },
    {
      of: "GET /threads/:id/state, POST /threads/:id/history: select",
      heddle: "gives the fields that are asked for",
      dev: "is ignored",
      why: "newer SDKs send it",
      async check(served) {
        const threadId = await done(served, ["add"]);
        const { json } = await served.request("GET", `/threads/${threadId}/state?select=next`);
        assert.deepEqual(json, { next: [] });
      },
    },
    {
      of: "POST /threads/:id/history: checkpoint.checkpoint_ns",
      heddle: "lists the states of a subgraph",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        await client.runs.wait(thread_id, "nested", { input: { trail: [], ask: "well?" } });
        const { tasks } = await client.threads.getState(thread_id);
        const { checkpoint_ns } = tasks[0]?.checkpoint ?? {};
        assert.match(checkpoint_ns ?? "", /^middle:/);
        const history = await client.threads.getHistory(thread_id, {
          checkpoint: { checkpoint_ns } as never,
        });
        assert.ok(history.length > 0);
        assert.ok(history.every(({ checkpoint }) => checkpoint.checkpoint_ns === checkpoint_ns));
      },
    },
    {
      of: "the metadata of checkpoints",
      heddle: "has that of the run, and its configurable: history can be filtered by it",
      async check({ client }) {
        const { thread_id } = await client.threads.create();
        for (const turn of ["one", "two"])
          await client.runs.wait(thread_id, "steps", { input: { plan: ["add"] }, metadata: { turn } });
        const found = await client.threads.getHistory(thread_id, { metadata: { turn: "one" } });
        assert.equal(found.length, 3);
      },
    },
    {
      of: "POST /threads/search: limit",
      heddle: "is 1 to 1000, else 422",
      dev: "400",
      why: "as for every other body",
      async check({ request }) {
        for (const limit of [0, 1001]) {
          const { status, text } = await request("POST", "/threads/search", { limit });
          assert.equal(status, 422);
          assert.match(text, /limit/);
        }
      },
    },
    {
      of: "POST /threads/search: sort_by state_updated_at",
      heddle: "sorts by the last change of the state",
      dev: "400",
      why: "newer SDKs send it",
      async check(served) {
        const own = mark();
        const first = await done(served, ["add"], own);
        const second = await done(served, ["add"], own);
        await served.client.threads.updateState(first, { values: { done: ["later"] }, asNode: "act" });
        const { json } = await served.request("POST", "/threads/search", {
          metadata: own,
          sort_by: "state_updated_at",
        });
        assert.deepEqual(
          json.map(({ thread_id }: { thread_id: string }) => thread_id),
          [first, second],
        );
      },
    },
  ],
};
