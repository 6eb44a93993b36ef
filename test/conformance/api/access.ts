// Who may do what: API_KEYS, or the rules of a project (the fixture: everybody has what he has made).
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { signToken } from "../../fixtures/auth/tokens.ts";
import { postCommand } from "../../helpers/protocol.ts";
import { KEYS } from "./keys.ts";
import type { Section, Served } from "./row.ts";

const say = (content: string) => ({ messages: [{ role: "user", content }] });

const withKey = ({ sdk, url }: Served, apiKey: string) =>
  new sdk.Client({ apiUrl: url, apiKey, callerOptions: { maxRetries: 0 } });

async function as({ sdk, url }: Served, name: string, permissions: string[] = []) {
  const headers = { authorization: `Bearer ${await signToken(name, permissions)}` };
  const client = new sdk.Client({ apiUrl: url, defaultHeaders: headers, callerOptions: { maxRetries: 0 } });
  return { headers, client };
}

/** Two callers, and a thread of the first with a run. */
async function two(served: Served) {
  const [ann, bob] = [await as(served, "ann"), await as(served, "bob")];
  const { thread_id } = await ann.client.threads.create();
  await ann.client.runs.wait(thread_id, "echo", { input: say("hi") });
  const [run] = await ann.client.runs.list(thread_id);
  return { ann, bob, threadId: thread_id, runId: run?.run_id ?? "" };
}

export const keysSection: Section = {
  title: "Access with API_KEYS",
  server: "keys",
  rows: [
    {
      of: "x-api-key",
      heddle: "is asked for; each key has what it has made",
      dev: "has no keys",
      why: "a server that others can reach needs some, also without rules of a project",
      async check(served) {
        const [ann, bob] = [withKey(served, KEYS.ann), withKey(served, KEYS.bob)];
        const { thread_id } = await ann.threads.create();
        assert.equal((await ann.threads.get(thread_id)).thread_id, thread_id);
        await assert.rejects(bob.threads.get(thread_id), /HTTP 404: Thread with ID/);
        await assert.rejects(withKey(served, "wrong").threads.get(thread_id), /HTTP 401/);
        assert.equal((await served.request("POST", "/threads", {})).status, 401);
      },
    },
    {
      of: "GET /info, GET /ok, a preflight",
      heddle: "need no credentials",
      dev: "GET /ok does",
      why: "probes of a load balancer have none",
      async check({ url, request }) {
        for (const route of ["/info", "/ok"]) assert.equal((await request("GET", route)).status, 200);
        const preflight = { origin: "https://chat.example", "access-control-request-method": "POST" };
        const { status } = await fetch(`${url}/threads`, { method: "OPTIONS", headers: preflight });
        assert.equal(status, 204);
      },
    },
  ],
};

export const rulesSection: Section = {
  title: "Access with `auth` of langgraph.json",
  server: "rules",
  rows: [
    {
      of: "authenticate",
      heddle: "refuses with the status, words and headers that it throws",
      async check({ request }) {
        const { status, text, headers } = await request(
          "POST",
          "/threads",
          {},
          { authorization: "Bearer x" },
        );
        assert.deepEqual([status, text], [401, "Unknown token"]);
        assert.equal(headers.get("www-authenticate"), "Bearer");
      },
    },
    {
      of: "x-auth-scheme: langsmith",
      heddle: "is no way in",
      dev: "lets anybody in who sends it, unless `disable_studio_auth` is set",
      why: "it is a header that anybody can send",
      async check({ request }) {
        const { status } = await request("POST", "/threads", {}, { "x-auth-scheme": "langsmith" });
        assert.equal(status, 401);
      },
    },
    {
      of: "the caller",
      heddle: "is in configurable: langgraph_auth_user, langgraph_auth_user_id, langgraph_auth_permissions",
      async check(served) {
        const { client } = await as(served, "ann", ["read"]);
        const { messages } = (await client.runs.wait(null, "who", { input: say("?") })) as {
          messages: { content: string }[];
        };
        assert.partialDeepStrictEqual(JSON.parse(messages.at(-1)?.content ?? ""), {
          langgraph_auth_user: { identity: "ann" },
          langgraph_auth_user_id: "ann",
          langgraph_auth_permissions: ["read"],
          user_id: "ann",
        });
      },
    },
    {
      of: "a value that a rule has changed",
      heddle: "is what is used",
      async check(served) {
        const { client } = await as(served, "ann");
        const thread = await client.threads.create({ metadata: { owner: "bob" } });
        assert.deepEqual(thread.metadata, { owner: "ann" });
      },
    },
    {
      of: "a rule that says no",
      heddle: "is 403 `Not authorized`",
      async check(served) {
        const { client } = await as(served, "eve", ["nothing"]);
        await assert.rejects(client.threads.create(), /HTTP 403: Not authorized/);
      },
    },
    {
      of: "threads and runs of others",
      heddle: "are 404 and in no search",
      async check(served) {
        const { bob, threadId, runId } = await two(served);
        const { threads, runs } = bob.client;
        for (const attempt of [
          () => threads.get(threadId),
          () => threads.update(threadId, { metadata: { a: 1 } }),
          () => threads.delete(threadId),
          () => threads.getState(threadId),
          () => threads.updateState(threadId, { values: say("mine") }),
          () => threads.getHistory(threadId),
          () => runs.create(threadId, "echo", { input: say("mine") }),
          () => runs.list(threadId),
          () => runs.get(threadId, runId),
          () => runs.join(threadId, runId),
          () => runs.cancel(threadId, runId),
          () => runs.delete(threadId, runId),
        ])
          await assert.rejects(attempt(), /HTTP 404/, String(attempt));
        assert.deepEqual(await threads.search({ ids: [threadId] }), []);
      },
    },
    {
      of: "POST /threads/:id/copy, POST /threads with the id of another's",
      heddle: "are 409",
      async check(served) {
        const { bob, threadId } = await two(served);
        await assert.rejects(bob.client.threads.copy(threadId), /HTTP 409: Thread not found/);
        await assert.rejects(bob.client.threads.create({ threadId }), /HTTP 409: Thread already exists/);
        const given = bob.client.threads.create({ threadId, ifExists: "do_nothing" });
        await assert.rejects(given, /HTTP 4/);
      },
    },
    {
      of: "the thread protocol on threads of others",
      heddle: "finds no run and shows no frame: each request is asked",
      dev: "the first connection's rights are everybody's",
      why: "whoever knew a thread's id could read it",
      async check(served) {
        const { ann, bob, threadId } = await two(served);
        const start = { assistant_id: "echo", input: say("hi") };
        const taken = await postCommand(served.url, threadId, "run.start", start, ann.headers);
        assert.equal(taken.type, "success");
        for (const [method, params] of [
          ["state.get", {}],
          ["run.start", start],
          ["agent.getTree", {}],
        ] as const) {
          const answer = await postCommand(served.url, threadId, method, params, bob.headers);
          assert.equal(answer.type, "error", method);
        }
        const answer = await fetch(`${served.url}/threads/${threadId}/stream/events`, {
          method: "POST",
          headers: { "content-type": "application/json", ...bob.headers },
          body: '{"channels":["lifecycle","values"]}',
        });
        const first = answer.body?.getReader().read();
        const seen = await Promise.race([
          first?.then(({ value }) => new TextDecoder().decode(value)),
          new Promise<string>((resolve) => setTimeout(() => resolve(""), 500)),
        ]);
        assert.ok(!seen?.includes("event:"), seen);
        await answer.body?.cancel().catch(() => undefined);
      },
    },
    {
      of: "GET …/runs/:id/stream of another's thread",
      heddle: "is one error event, `404: Thread not found`",
      async check(served) {
        const { bob, threadId, runId } = await two(served);
        const parts = [];
        for await (const { event, data } of bob.client.runs.joinStream(threadId, runId))
          parts.push([event, data]);
        assert.deepEqual(parts, [["error", { error: "Error", message: "404: Thread not found" }]]);
      },
    },
    {
      of: "GET /ui/…",
      heddle: "needs no credentials, the tags of POST /ui/:agent do",
      async check(served) {
        const { headers } = await as(served, "ann");
        const { request } = served;
        const tags = { name: "card" };
        assert.equal((await request("POST", "/ui/weather", tags)).status, 401);
        assert.equal((await request("POST", "/ui/weather", tags, headers)).status, 200);
        assert.equal((await request("GET", "/ui/weather/entrypoint.js")).status, 200);
      },
    },
    {
      of: "assistants",
      heddle: "of others are 404 and in no search; a graph's own can be run by all",
      async check(served) {
        const [ann, bob] = [await as(served, "ann"), await as(served, "bob")];
        const { assistant_id } = await ann.client.assistants.create({ graphId: "echo" });
        await assert.rejects(bob.client.assistants.get(assistant_id), /HTTP 404: Assistant not found/);
        const ids = async ({ client }: typeof ann) =>
          (await client.assistants.search({ limit: 100 })).map((found) => found.assistant_id);
        assert.ok((await ids(ann)).includes(assistant_id));
        assert.ok(!(await ids(bob)).includes(assistant_id));
        await bob.client.runs.wait(null, "echo", { input: say("hi") });
      },
    },
    {
      of: "crons",
      heddle: "of others are 404 and in no search",
      dev: "has no crons",
      why: "the SDK has them",
      async check(served) {
        const { ann, bob, threadId } = await two(served);
        const schedule = { schedule: "0 0 1 1 *", input: say("hi") };
        const { cron_id } = await ann.client.crons.createForThread(threadId, "echo", schedule);
        assert.equal((await ann.client.crons.search({ threadId })).length, 1);
        assert.deepEqual(await bob.client.crons.search({ threadId }), []);
        await assert.rejects(bob.client.crons.delete(cron_id), /HTTP 404/);
        await ann.client.crons.delete(cron_id);
      },
    },
    {
      of: "the store",
      heddle: "takes the namespace that a rule has made of the asked one",
      async check(served) {
        const [ann, bob] = [await as(served, "ann"), await as(served, "bob")];
        const key = randomUUID();
        await ann.client.store.putItem(["notes"], key, { text: "hers" });
        assert.deepEqual((await ann.client.store.getItem(["notes"], key))?.value, { text: "hers" });
        assert.equal(await bob.client.store.getItem(["notes"], key), null);
        const { items } = await bob.client.store.searchItems([], { limit: 1_000 });
        assert.ok(items.every((item) => item.key !== key));
      },
    },
  ],
};
