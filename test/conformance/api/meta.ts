// The server itself: health, information, errors, content types.
import assert from "node:assert/strict";
import type { Section } from "./row.ts";

export const metaSection: Section = {
  title: "Server",
  rows: [
    {
      of: "GET /ok",
      heddle: 'answers {"ok":true} while the database answers',
      dev: "does not look at anything",
      why: "a load balancer is to send nothing to a server that cannot work",
      async check({ request }) {
        const { status, json } = await request("GET", "/ok");
        assert.deepEqual([status, json], [200, { ok: true }]);
      },
    },
    {
      of: "GET /info",
      heddle: "tells versions and flags",
      async check({ request }) {
        const { json } = await request("GET", "/info");
        assert.equal(json.context, "js");
        assert.equal(typeof json.version, "string");
        assert.equal(typeof json.langgraph_js_version, "string");
        assert.equal(json.flags.assistants, true);
      },
    },
    {
      of: "GET /info: flags",
      heddle: "are assistants, crons, stream_namespaces, strict_resume, and langsmith, which is false",
      dev: "has neither stream_namespaces nor strict_resume, and `langsmith_tracing_replicas` as well",
      why: "newer SDKs ask for both; nothing is sent to LangSmith, so there are no replicas of it",
      async check({ request }) {
        const { json } = await request("GET", "/info");
        assert.deepEqual(json.flags, {
          assistants: true,
          crons: true,
          langsmith: false,
          stream_namespaces: true,
          strict_resume: true,
        });
      },
    },
    {
      of: "GET /openapi.json, GET /docs",
      heddle: "describe every route, the second as a page",
      dev: "404",
      why: "the platform has them",
      async check({ request }) {
        const { json } = await request("GET", "/openapi.json");
        assert.match(json.openapi, /^3\./);
        for (const route of [
          "/threads/{thread_id}/runs/stream",
          "/threads/{thread_id}/commands",
          "/store/items",
        ])
          assert.ok(json.paths[route], route);
        const page = await request("GET", "/docs");
        assert.equal(page.status, 200);
        assert.match(page.headers.get("content-type") ?? "", /^text\/html/);
      },
    },
    {
      of: "GET /metrics",
      heddle: "counts for Prometheus, or as JSON with `format=json`",
      dev: "404",
      why: "the platform has it",
      async check({ request }) {
        const { text, headers } = await request("GET", "/metrics");
        assert.match(headers.get("content-type") ?? "", /^text\/plain; version=0\.0\.4/);
        assert.match(text, /^heddle_queue_depth \d/m);
        const { json } = await request("GET", "/metrics?format=json");
        assert.ok(json.some(({ name }: { name: string }) => name === "heddle_queue_depth"));
      },
    },
    {
      of: "POST /internal/truncate without ALLOW_TRUNCATE",
      heddle: "is 404",
      dev: "deletes",
      why: "nobody should lose everything by one request",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create();
        assert.equal((await request("POST", "/internal/truncate", { threads: true })).status, 404);
        await client.threads.get(thread_id);
      },
    },
    {
      of: "POST /mcp, POST /a2a/:assistant_id",
      heddle: "are 404",
      async check({ request }) {
        assert.equal((await request("POST", "/mcp", {})).status, 404);
        assert.equal((await request("POST", "/a2a/agent", {})).status, 404);
      },
    },
    {
      of: "CORS",
      heddle: "lets any page call, and read Content-Location, Location and the X-Pagination headers",
      dev: "exposes Content-Location and X-Pagination-Total only",
      why: "newer SDKs read the others in a browser",
      async check({ url }) {
        const { headers } = await fetch(`${url}/info`, { headers: { origin: "https://chat.example" } });
        assert.equal(headers.get("access-control-allow-origin"), "*");
        assert.equal(
          headers.get("access-control-expose-headers"),
          "content-location, etag, location, x-pagination-total, x-pagination-next",
        );
      },
    },
    {
      of: "OPTIONS: a preflight",
      heddle: "is 204 with what is asked for, also from a page on the internet to a private network",
      dev: "does not answer the question for the private network",
      why: "Studio is such a page",
      async check({ url }) {
        const { status, headers } = await fetch(`${url}/threads`, {
          method: "OPTIONS",
          headers: {
            origin: "https://chat.example",
            "access-control-request-method": "POST",
            "access-control-request-headers": "content-type,x-api-key",
            "access-control-request-private-network": "true",
          },
        });
        assert.equal(status, 204);
        assert.equal(headers.get("access-control-allow-headers"), "content-type,x-api-key");
        assert.match(headers.get("access-control-allow-methods") ?? "", /POST.*PATCH/);
        assert.equal(headers.get("access-control-allow-private-network"), "true");
      },
    },
    {
      of: "a body of type text/plain",
      heddle: "is read as JSON",
      async check({ url }) {
        const headers = { "content-type": "text/plain;charset=UTF-8" };
        const answer = await fetch(`${url}/threads`, {
          method: "POST",
          headers,
          body: '{"metadata":{"a":1}}',
        });
        const { metadata } = (await answer.json()) as { metadata: object };
        assert.deepEqual(metadata, { a: 1 });
      },
    },
    {
      of: "a body of another content type",
      heddle: "is 415",
      dev: "is not read: the request counts as {}",
      why: "what the client has sent would be lost without a word",
      async check({ url }) {
        const headers = { "content-type": "application/xml" };
        const answer = await fetch(`${url}/threads`, { method: "POST", headers, body: "<thread/>" });
        assert.equal(answer.status, 415);
      },
    },
    {
      of: "keys of a body that nobody knows",
      heddle: "are ignored",
      async check({ request }) {
        const { status, json } = await request("POST", "/threads", { metadata: {}, later: true });
        assert.equal(status, 200);
        assert.ok(!("later" in json));
      },
    },
    {
      of: "an id that is no UUID",
      heddle: "is 422 and names the parameter",
      dev: "400",
      why: "it is a request of the wrong shape, as any other",
      async check({ request }) {
        const { status, text } = await request("GET", "/threads/nobody");
        assert.equal(status, 422);
        assert.match(text, /thread_id/);
      },
    },
    {
      of: "ids and times that the server makes",
      heddle: "are UUIDs of version 7, which sort by time, and times of ISO 8601 in UTC with milliseconds",
      async check({ client }) {
        const first = await client.threads.create();
        const second = await client.threads.create();
        assert.match(first.thread_id, /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
        assert.ok(first.thread_id < second.thread_id);
        assert.match(first.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
      },
    },
    {
      of: "messages in answers",
      heddle: "are flat: type and content beside id and what else they have",
      async check({ client }) {
        const input = { messages: [{ role: "user", content: "hi" }] };
        const { messages } = (await client.runs.wait(null, "agent", { input })) as {
          messages: Record<string, unknown>[];
        };
        const [asked, answered] = messages;
        assert.partialDeepStrictEqual(asked, { type: "human", content: "hi" });
        assert.partialDeepStrictEqual(answered, { type: "ai", content: "You said: hi", tool_calls: [] });
        assert.equal(typeof answered?.id, "string");
      },
    },
    {
      of: "an unknown route",
      heddle: "is 404 with a sentence",
      async check({ request }) {
        const { status, text } = await request("GET", "/nowhere");
        assert.equal(status, 404);
        assert.match(text, /GET \/nowhere/);
      },
    },
    {
      of: "malformed JSON",
      heddle: "is 400 `Malformed JSON in request body`",
      async check({ url }) {
        const headers = { "content-type": "application/json" };
        const answer = await fetch(`${url}/threads`, { method: "POST", headers, body: "{" });
        assert.deepEqual([answer.status, await answer.text()], [400, "Malformed JSON in request body"]);
      },
    },
    {
      of: "a body of the wrong shape",
      heddle: "is 422 and names the field",
      dev: "400 with the issues of zod as JSON",
      why: "it is what the platform answers; the SDK takes both for final",
      async check({ request }) {
        const { status, text } = await request("POST", "/threads/search", { limit: "many" });
        assert.equal(status, 422);
        assert.match(text, /limit/);
      },
    },
    {
      of: "an error's body",
      heddle: "is the message as plain text",
      async check({ request }) {
        const { status, text, headers } = await request("GET", "/assistants/nobody");
        assert.deepEqual([status, text], [404, "Assistant not found"]);
        assert.match(headers.get("content-type") ?? "", /^text\/plain/);
      },
    },
    {
      of: "POST without a body and a content type",
      heddle: "counts as {}",
      async check({ url }) {
        const answer = await fetch(`${url}/threads`, { method: "POST" });
        assert.equal(answer.status, 200);
      },
    },
  ],
};
