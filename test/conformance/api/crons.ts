// Crons, and webhooks at a run's end. When crons fire, and how webhooks are delivered, is in test/api.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { Row, Section, Served } from "./row.ts";

const YEARLY = "0 0 1 1 *";
const MISSING = "00000000-0000-4000-8000-000000000000";
const STUB = "500 `Not implemented`";
const NONE = "404, there is no such route";
const WHY = "the dev server has no crons; the platform has";

/** Makes a cron for the check and removes it. */
async function withCron(
  { client }: Served,
  payload: object,
  check: (cron: { cron_id: string } & Record<string, unknown>) => Promise<void>,
): Promise<void> {
  const cron = await client.crons.create("agent", { schedule: YEARLY, ...payload });
  try {
    await check(cron as never);
  } finally {
    await client.crons.delete(cron.cron_id);
  }
}

const cronRows: Row[] = [
  {
    of: "POST /runs/crons",
    heddle: "makes a cron whose runs have threads of their own",
    dev: STUB,
    why: WHY,
    check: (served) =>
      withCron(served, { input: { messages: [] }, metadata: { a: 1 } }, async (cron) => {
        assert.equal(cron.thread_id, null);
        assert.equal(cron.on_run_completed, "delete");
        assert.equal(cron.enabled, true);
        assert.equal(cron.timezone, null);
        assert.equal(cron.end_time, null);
        assert.deepEqual(cron.metadata, { a: 1 });
        assert.deepEqual((cron.payload as { input: unknown }).input, { messages: [] });
        assert.match(String(cron.next_run_date), /-01-01T00:00:00.000Z$/);
      }),
  },
  {
    of: "POST /threads/:thread_id/runs/crons",
    heddle: "makes a cron that runs on the thread, and goes with it",
    dev: STUB,
    why: WHY,
    async check({ client, request }) {
      const { thread_id } = await client.threads.create();
      const cron = await client.crons.createForThread(thread_id, "agent", { schedule: YEARLY });
      assert.equal(cron.thread_id, thread_id);
      assert.equal("on_run_completed" in cron, false);
      await client.threads.delete(thread_id);
      assert.equal((await request("GET", `/runs/crons/${cron.cron_id}`)).status, 404);
    },
  },
  {
    of: "crons: schedule",
    heddle: "has five fields, or is a nickname such as @daily; anything else is 422",
    dev: "is not looked at",
    why: "seconds are the first of six fields for some servers, and the last for others",
    async check({ request }) {
      for (const schedule of ["0 0 * * * *", "* * *", "soon", "0 0 30 2 *", undefined]) {
        const { status, text } = await request("POST", "/runs/crons", { assistant_id: "agent", schedule });
        assert.equal(status, 422);
        assert.match(text, /schedule/);
      }
    },
  },
  {
    of: "crons: timezone",
    heddle: "says whose clock the schedule is by, with its summer time; UTC by default",
    dev: STUB,
    why: WHY,
    check: (served) =>
      withCron(served, { schedule: "0 12 1 1 *", timezone: "Asia/Kathmandu" }, async (cron) => {
        assert.match(String(cron.next_run_date), /-01-01T06:15:00.000Z$/);
      }),
  },
  {
    of: "crons: end_time",
    heddle: "ends the cron; null takes it away; one before the first firing is 422",
    dev: STUB,
    why: WHY,
    check: (served) =>
      withCron(served, { endTime: "2100-01-01T00:00:00Z" }, async (cron) => {
        assert.equal(cron.end_time, "2100-01-01T00:00:00.000Z");
        const open = await served.client.crons.update(cron.cron_id, { endTime: null } as never);
        assert.equal(open.end_time, null);
        const over = { assistant_id: "agent", schedule: YEARLY, end_time: "2001-01-01T00:00:00Z" };
        assert.equal((await served.request("POST", "/runs/crons", over)).status, 422);
      }),
  },
  {
    of: "PATCH /runs/crons/:cron_id",
    heddle: "changes what is named, and the next date with it; metadata is merged",
    dev: NONE,
    why: WHY,
    check: (served) =>
      withCron(served, { input: { messages: [] }, metadata: { a: 1 } }, async (cron) => {
        const changed = await served.client.crons.update(cron.cron_id, {
          schedule: "0 0 2 1 *",
          metadata: { b: 2 },
        });
        assert.match(String(changed.next_run_date), /-01-02T00:00:00.000Z$/);
        assert.deepEqual(changed.metadata, { a: 1, b: 2 });
        assert.deepEqual(changed.payload.input, { messages: [] });
        const off = await served.client.crons.update(cron.cron_id, { enabled: false });
        assert.deepEqual([off.enabled, off.next_run_date], [false, null]);
      }),
  },
  {
    of: "GET /runs/crons/:cron_id",
    heddle: "tells the cron",
    dev: NONE,
    why: WHY,
    check: (served) =>
      withCron(served, {}, async (cron) => {
        const { json } = await served.request("GET", `/runs/crons/${cron.cron_id}`);
        assert.deepEqual(json, cron);
      }),
  },
  {
    of: "DELETE /runs/crons/:cron_id",
    heddle: "answers 204; its runs stay",
    dev: STUB,
    why: WHY,
    async check({ client, request }) {
      const { cron_id } = await client.crons.create("agent", { schedule: YEARLY });
      const { status, text } = await request("DELETE", `/runs/crons/${cron_id}`);
      assert.deepEqual([status, text], [204, ""]);
    },
  },
  {
    of: "POST /runs/crons/search",
    heddle: "finds by assistant, thread, enabled and metadata, sorted, in pages, with the fields of `select`",
    dev: STUB,
    why: WHY,
    check: (served) =>
      withCron(served, { metadata: { find: "me" } }, async ({ cron_id }) => {
        const { client } = served;
        const query = { assistantId: "agent", metadata: { find: "me" }, enabled: true, limit: 5 };
        const found = await client.crons.search({ ...query, sortBy: "next_run_date", select: ["cron_id"] });
        assert.deepEqual(found, [{ cron_id }]);
        assert.deepEqual(await client.crons.search({ ...query, offset: 1 }), []);
        const { headers } = await served.request("POST", "/runs/crons/search", { metadata: { find: "me" } });
        assert.equal(headers.get("x-pagination-total"), "1");
      }),
  },
  {
    of: "POST /runs/crons/count",
    heddle: "answers the number",
    dev: NONE,
    why: WHY,
    check: (served) =>
      withCron(served, { metadata: { count: "me" } }, async () => {
        const { json } = await served.request("POST", "/runs/crons/count", { metadata: { count: "me" } });
        assert.equal(json, 1);
      }),
  },
  {
    of: "an unknown cron, assistant or thread",
    heddle: "is 404",
    dev: STUB,
    why: WHY,
    async check({ request }) {
      const cron = { assistant_id: "agent", schedule: YEARLY };
      for (const [method, path, body] of [
        ["GET", `/runs/crons/${MISSING}`, undefined],
        ["PATCH", `/runs/crons/${MISSING}`, {}],
        ["DELETE", `/runs/crons/${MISSING}`, undefined],
        ["POST", "/runs/crons", { ...cron, assistant_id: "nobody" }],
        ["POST", `/threads/${MISSING}/runs/crons`, cron],
      ] as const) {
        assert.equal((await request(method, path, body)).status, 404, `${method} ${path}`);
      }
    },
  },
  {
    of: "GET /info: flags.crons",
    heddle: "is true",
    dev: "is false",
    why: "it is what clients look at before they offer crons",
    async check({ request }) {
      assert.equal((await request("GET", "/info")).json.flags.crons, true);
    },
  },
];

export const cronsSection: Section = { title: "Crons", rows: cronRows };

export const webhooksSection: Section = {
  title: "Webhooks",
  rows: [
    {
      of: "runs: webhook",
      heddle: "is told of the end: the run, its times and its state, as JSON with a content type",
      dev: "sends no content type, and tries once",
      why: "most receivers parse by it; what is not taken is sent again, with the same `webhook-id`",
      async check({ client }) {
        const { promise, resolve } = Promise.withResolvers<{
          type?: string | undefined;
          id: unknown;
          text: string;
        }>();
        const receiver = createServer(async (incoming, response) => {
          let text = "";
          for await (const chunk of incoming) text += chunk;
          response.end();
          const { "content-type": type, "webhook-id": id } = incoming.headers;
          resolve({ type, id, text });
        });
        await new Promise<void>((done) => receiver.listen(0, "127.0.0.1", done));
        const { port } = receiver.address() as AddressInfo;
        const { thread_id } = await client.threads.create();
        const run = await client.runs.create(thread_id, "agent", {
          input: { messages: [{ role: "user", content: "hi" }] },
          webhook: `http://127.0.0.1:${port}/done`,
        });
        const { type, id, text } = await promise;
        await new Promise((done) => receiver.close(done));
        const body = JSON.parse(text);
        assert.deepEqual([type, id], ["application/json", run.run_id]);
        assert.deepEqual([body.run_id, body.thread_id, body.status], [run.run_id, thread_id, "success"]);
        assert.ok(body.values.messages.length >= 1);
        for (const key of ["run_started_at", "run_ended_at", "webhook_sent_at"]) {
          assert.equal(new Date(body[key]).toISOString(), body[key]);
        }
      },
    },
    {
      of: "runs: webhook to a private address, with credentials, or of another scheme",
      heddle: "is 422, unless WEBHOOK_ALLOW names it",
      dev: "is sent",
      why: "a client must not reach the server's own network through it",
      async check({ client, request }) {
        const { thread_id } = await client.threads.create();
        for (const webhook of [
          "http://169.254.169.254/",
          "http://localhost/",
          "https://a:b@example.com/",
          "ftp://example.com/",
        ]) {
          const { status, text } = await request("POST", `/threads/${thread_id}/runs`, {
            assistant_id: "agent",
            webhook,
          });
          assert.equal(status, 422);
          assert.match(text, /webhook/);
        }
      },
    },
  ],
};
