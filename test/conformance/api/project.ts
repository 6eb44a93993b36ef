// What a project brings in its langgraph.json: an app, UI components, origins, routes that it takes away.
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Section } from "./row.ts";

export const projectSection: Section = {
  title: "A project's langgraph.json",
  server: "project",
  rows: [
    {
      of: "http.app",
      heddle: "gets each request first: it adds routes, answers instead of ours and sees what ours answer",
      async check({ request }) {
        assert.deepEqual((await request("GET", "/mine")).json, { mine: true });
        assert.deepEqual((await request("GET", "/runs/mine")).json, { mine: true });
        assert.deepEqual((await request("GET", "/info?interrupt")).json, { status: "interrupted" });
        const info = await request("GET", "/info");
        assert.deepEqual([info.json.context, info.headers.get("x-middleware")], ["js", "seen"]);
        const failed = await request("GET", "/failing");
        assert.deepEqual([failed.status, failed.text], [400, "Bad request"]);
      },
    },
    {
      of: "http.cors",
      heddle: "names the pages that may call; what SDKs read is always exposed to them",
      dev: "exposes nothing when `expose_headers` is left out",
      why: "an SDK in a browser could not read where its run is",
      async check({ url }) {
        const ask = async (origin: string) => (await fetch(`${url}/info`, { headers: { origin } })).headers;
        const allowed = await ask("https://chat.example");
        assert.equal(allowed.get("access-control-allow-origin"), "https://chat.example");
        assert.match(allowed.get("access-control-expose-headers") ?? "", /content-location, etag, location/);
        assert.equal((await ask("https://other.example")).get("access-control-allow-origin"), null);
      },
    },
    {
      of: "http.disable_store",
      heddle: "takes the routes of the store away: 404",
      async check({ request }) {
        assert.equal((await request("POST", "/store/items/search", { namespace_prefix: [] })).status, 404);
        assert.equal((await request("POST", "/threads/search", {})).status, 200);
      },
    },
    {
      of: "LANGGRAPH_CONFIG",
      heddle: "gives the graphs' own assistants their configuration and context",
      async check({ client }) {
        const { config, context } = await client.assistants.get("made");
        assert.partialDeepStrictEqual(config, { configurable: { node: "named" } });
        assert.deepEqual(context, { tone: "dry" });
        const { seen } = (await client.runs.wait(null, "made", { input: {} })) as { seen: object };
        assert.partialDeepStrictEqual(seen, { node: "named", context: { tone: "dry" } });
      },
    },
    {
      of: "a client without an address, in a graph or in the app",
      heddle: "speaks to the server that it runs in",
      async check({ client }) {
        const values = await client.runs.wait(null, "caller", { input: {} });
        assert.deepEqual(values, { told: ["caller", "made", "steps"] });
      },
    },
    {
      of: "runs: webhook as a path",
      heddle: "is a route of the project's app",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create();
        const run = await client.runs.create(thread_id, "steps", {
          input: { plan: ["add"] },
          webhook: "/hook",
        });
        for (;;) {
          const { json } = await request("GET", "/hook");
          const found = json.find(({ run_id }: { run_id: string }) => run_id === run.run_id);
          if (found) {
            assert.equal(found.status, "success");
            return;
          }
          await delay(50);
        }
      },
    },
    {
      of: "POST /ui/:agent",
      heddle: "gives the tags that load a component; 404 for an agent without any",
      async check({ url, request }) {
        const { status, text, headers } = await request("POST", "/ui/my-agent", { name: "card" });
        assert.equal(status, 200);
        assert.match(headers.get("content-type") ?? "", /^text\/html/);
        const script = `<script src="${url}/ui/my-agent/entrypoint.js" onload='__LGUI_my_agent.render("card", "{{shadowRootId}}")'></script>`;
        assert.ok(text.includes(script), text);
        assert.equal((await request("POST", "/ui/steps", { name: "card" })).status, 404);
      },
    },
    {
      of: "GET /ui/:agent/:basename",
      heddle: "gives a file of the bundle, 404 for others",
      async check({ request }) {
        const { text, headers } = await request("GET", "/ui/my-agent/entrypoint.js");
        assert.match(headers.get("content-type") ?? "", /javascript/);
        assert.ok(text.includes("Card: "));
        assert.ok(text.includes('globalThis[Symbol.for("LGUI_REQUIRE")]'));
        assert.equal((await request("GET", "/ui/my-agent/ui.tsx")).status, 404);
      },
    },
    {
      of: "POST /internal/truncate",
      heddle: "deletes what is named, where ALLOW_TRUNCATE is set; else it is 404",
      dev: "is always there",
      why: "nobody should lose everything by one request",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create();
        await client.assistants.create({ graphId: "steps" });
        const all = { runs: true, threads: true, assistants: true, checkpointer: true, store: true };
        assert.deepEqual((await request("POST", "/internal/truncate", all)).json, { ok: true });
        await assert.rejects(client.threads.get(thread_id), /HTTP 404/);
        assert.equal(await client.assistants.count(), 3);
      },
    },
  ],
};
