// Webhooks over HTTP: what a receiver gets, however runs end and servers stop.
import { createHmac, randomBytes } from "node:crypto";
import type { ServerResponse } from "node:http";
import path from "node:path";
import { Client } from "langgraph-sdk-next";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { openGate } from "../helpers/gates.ts";
import { type Received, type Receiver, startReceiver, status } from "../helpers/receiver.ts";
import { human } from "../helpers/sdk.ts";

const SECRET = `whsec_${randomBytes(32).toString("base64")}`;
const ENV = { WEBHOOK_ALLOW: "127.0.0.1", WEBHOOK_SECRET: SECRET };

let one: TestApp;
let client: Client;
let receiver: Receiver;

beforeAll(async () => {
  one = await startApp({ env: ENV });
  client = new Client({ apiUrl: one.url, callerOptions: { maxRetries: 0 } });
});

afterAll(() => one.close());

beforeEach(async () => {
  receiver = await startReceiver();
});

afterEach(async () => {
  await receiver.close();
  await one.database.db.query("delete from heddle.webhooks");
});

const outbox = () =>
  one.database.db.query<{ run_id: string; attempts: number; due_at: Date | null; last_error: string | null }>(
    "select run_id, attempts, due_at, last_error from heddle.webhooks",
  );
/** As if the time of waiting were over. */
const makeDue = (runId: string) =>
  one.database.db.query("update heddle.webhooks set due_at = clock_timestamp() where run_id = $1::uuid", [
    runId,
  ]);

async function delivered(count = 1): Promise<Received[]> {
  await expect.poll(() => receiver.received.length, { timeout: 8_000 }).toBe(count);
  await expect.poll(outbox, { timeout: 8_000 }).toEqual([]);
  return receiver.received;
}

const failed = (attempts: number) =>
  expect
    .poll(async () => (await outbox()).map((row) => [row.attempts, row.last_error !== null]), {
      timeout: 15_000,
    })
    .toEqual([[attempts, true]]);

describe("a webhook", () => {
  it("tells of a run's success, with the state, and a signature that a receiver can verify", async () => {
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "echo", {
      input: human("hi"),
      metadata: { team: "red" },
      webhook: `${receiver.url}/hook?a=b`,
    });
    const [got] = await delivered();
    expect(got?.path).toBe("/hook?a=b");
    expect(got?.body).toMatchObject({
      run_id: run.run_id,
      thread_id,
      assistant_id: run.assistant_id,
      status: "success",
      multitask_strategy: run.multitask_strategy,
      created_at: run.created_at,
      metadata: { team: "red" },
      kwargs: { webhook: `${receiver.url}/hook?a=b` },
      values: { messages: [{ content: "hi" }, { content: "echo hi", type: "ai" }] },
    });
    expect(got?.body).not.toHaveProperty("error");
    const times = ["run_started_at", "run_ended_at", "webhook_sent_at"].map((key) => String(got?.body[key]));
    for (const time of times) expect(new Date(time).toISOString()).toBe(time);
    expect([run.created_at, ...times].toSorted()).toEqual([run.created_at, ...times]);

    const { headers, text } = got as Received;
    expect(headers["content-type"]).toBe("application/json");
    expect(headers["webhook-id"]).toBe(run.run_id);
    expect(Math.abs(Number(headers["webhook-timestamp"]) - Date.now() / 1000)).toBeLessThan(60);
    const key = Buffer.from(SECRET.slice("whsec_".length), "base64");
    const content = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${text}`;
    expect(headers["webhook-signature"]).toBe(
      `v1,${createHmac("sha256", key).update(content).digest("base64")}`,
    );
  });

  it("tells of an error, of an interrupt, and of a stateless run without a state", async () => {
    const { thread_id } = await client.threads.create();
    const webhook = `${receiver.url}/`;
    await client.runs.create(thread_id, "script", { input: human("fail no luck"), webhook });
    await delivered(1);
    await client.runs.create(thread_id, "script", { input: human("ask why"), webhook });
    await delivered(2);
    await client.runs.create(null, "echo", { input: human("hi"), webhook });
    const [error, interrupt, stateless] = await delivered(3);
    expect(error?.body).toMatchObject({ status: "error", error: "no luck" });
    expect(interrupt?.body).toMatchObject({
      status: "success",
      values: { __interrupt__: [{ value: "why" }] },
    });
    expect(stateless?.body).toMatchObject({ status: "success" });
    expect(stateless?.body).not.toHaveProperty("values");
  });

  it("tells of a run that is cancelled, running or not yet started", async () => {
    const { thread_id } = await client.threads.create();
    const webhook = `${receiver.url}/`;
    const gate = `webhook-${thread_id}`;
    const running = await client.runs.create(thread_id, "script", { input: human(`wait ${gate}`), webhook });
    await expect.poll(async () => (await client.runs.get(thread_id, running.run_id)).status).toBe("running");
    const waiting = await client.runs.create(thread_id, "echo", {
      input: human("hi"),
      webhook,
      multitaskStrategy: "enqueue",
    });
    await client.runs.cancel(thread_id, waiting.run_id);
    const [first] = await delivered(1);
    expect(first?.body).toMatchObject({
      run_id: waiting.run_id,
      status: "interrupted",
      run_started_at: null,
    });
    await client.runs.cancel(thread_id, running.run_id, true);
    const [, second] = await delivered(2);
    expect(second?.body).toMatchObject({ run_id: running.run_id, status: "interrupted" });
    expect(second?.body.run_started_at).not.toBeNull();
    openGate(gate);
  });

  it("tells nothing of a run that is rolled back: there is none", async () => {
    const { thread_id } = await client.threads.create();
    const webhook = `${receiver.url}/`;
    const gone = await client.runs.create(thread_id, "echo", {
      input: human("a"),
      webhook,
      afterSeconds: 3600,
    });
    const run = await client.runs.create(thread_id, "echo", {
      input: human("b"),
      webhook,
      multitaskStrategy: "rollback",
    });
    const got = await delivered();
    expect(got.map(({ body }) => body.run_id)).toEqual([run.run_id]);
    await expect(client.runs.get(thread_id, gone.run_id)).rejects.toThrow("404");
  });

  it("comes also from a cron's run, and after the run and its thread are deleted", async () => {
    const { thread_id } = await client.threads.create();
    receiver.answer(status(500));
    const { cron_id } = await client.crons.createForThread(thread_id, "echo", {
      schedule: "0 0 1 1 *",
      input: human("tick"),
      webhook: `${receiver.url}/`,
    });
    await one.database.db.query("update heddle.crons set next_run_date = clock_timestamp()");
    await client.crons.update(cron_id, {});
    await failed(1);
    await client.threads.delete(thread_id);
    const [row] = await outbox();
    await makeDue(row?.run_id ?? "");
    const [, again] = await delivered(2);
    expect(again?.body).toMatchObject({ thread_id, status: "success", metadata: { cron_id } });
    expect(again?.body).not.toHaveProperty("values");
  });

  it("to a path goes to the project's own app, on this server", async () => {
    const project = path.resolve(import.meta.dirname, "../fixtures/webhooks/langgraph.json");
    const own = await startApp({ graphs: project });
    const { thread_id } = await own.client.threads.create();
    const run = await own.client.runs.create(thread_id, "echo", { input: human("hi"), webhook: "/done" });
    const got = async () => (await fetch(`${own.url}/done`)).json();
    await expect
      .poll(got, { timeout: 8_000 })
      .toMatchObject([{ id: run.run_id, body: { run_id: run.run_id, status: "success" } }]);
    await own.close();
  });

  it("to a path that is refused is tried again", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.create(thread_id, "echo", { input: human("hi"), webhook: "/nowhere" });
    await failed(1);
    expect((await outbox())[0]?.last_error).toContain("404");
  });

  it("does not show what authentication has told of the caller", async () => {
    const { thread_id } = await client.threads.create();
    await client.runs.create(thread_id, "echo", {
      input: human("hi"),
      config: {
        configurable: {
          langgraph_auth_user: { token: "s3cret" },
          Authorization: "Bearer s3cret",
          colour: "blue",
        },
      },
      webhook: `${receiver.url}/`,
    });
    const [got] = await delivered();
    expect(got?.text).not.toContain("s3cret");
    expect(got?.body).toMatchObject({ kwargs: { config: { configurable: { colour: "blue" } } } });
  });

  it.each([
    "http://localhost/",
    "http://169.254.169.254/latest/meta-data",
    "https://a:b@example.com/",
    "gopher://example.com/",
    "//example.com/",
    "",
  ])("to %j is refused with the run", async (webhook) => {
    const { thread_id } = await client.threads.create();
    for (const place of [`/threads/${thread_id}/runs`, "/runs", "/runs/stream", "/runs/wait"]) {
      const response = await fetch(one.url + place, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ assistant_id: "echo", input: human("hi"), webhook }),
      });
      expect(response.status).toBe(422);
      expect(await response.text()).toContain("body.webhook");
    }
    expect(await client.runs.list(thread_id)).toEqual([]);
  });
});

describe("a delivery", () => {
  const start = async () => {
    const { thread_id } = await client.threads.create();
    return client.runs.create(thread_id, "echo", { input: human("hi"), webhook: `${receiver.url}/` });
  };

  it("that fails is made again later, with the same id, and no more once it is taken", async () => {
    receiver.answer(status(500), (response) => void response.destroy(), status(302, { location: "/else" }));
    const { run_id } = await start();
    for (const attempts of [1, 2, 3]) {
      await failed(attempts);
      const [row] = await outbox();
      expect(row?.due_at?.getTime()).toBeGreaterThan(Date.now());
      await one.database.db.query("update heddle.webhooks set last_error = null");
      await makeDue(run_id);
    }
    const got = await delivered(4);
    expect(new Set(got.map(({ headers }) => headers["webhook-id"]))).toEqual(new Set([run_id]));
    // The redirect was not followed.
    expect(new Set(got.map(({ path }) => path))).toEqual(new Set(["/"]));
    expect(new Set(got.map(({ headers }) => headers["webhook-signature"])).size).toBeGreaterThan(1);
  }, 30_000);

  it("is given up after its last attempt, and kept to be seen", async () => {
    receiver.answer(status(503));
    const { run_id } = await start();
    await failed(1);
    receiver.answer(status(503));
    await one.database.db.query(
      "update heddle.webhooks set attempts = 15, due_at = clock_timestamp() where run_id = $1::uuid",
      [run_id],
    );
    await expect
      .poll(outbox, { timeout: 8_000 })
      .toEqual([{ run_id, attempts: 16, due_at: null, last_error: expect.stringContaining("503") }]);
  });

  it("is given up at once when the receiver says that it is gone for good", async () => {
    receiver.answer(status(410));
    const { run_id } = await start();
    await expect
      .poll(outbox)
      .toEqual([{ run_id, attempts: 1, due_at: null, last_error: expect.stringContaining("410") }]);
  });

  it("that hangs delays neither the run nor another webhook", async () => {
    const held: (() => void)[] = [];
    receiver.answer((response) => void held.push(() => response.writeHead(204).end()));
    const slow = await start();
    await expect.poll(() => receiver.received.length).toBe(1);
    expect((await client.runs.get(slow.thread_id, slow.run_id)).status).toBe("success");
    await start();
    await expect.poll(() => receiver.received.length).toBe(2);
    for (const release of held) release();
    await delivered(2);
  });

  it("to a host that hangs keeps none from another host, nor the whole server busy", async () => {
    const held: (() => void)[] = [];
    const hang = Array.from({ length: 8 }, () => (response: ServerResponse) => {
      held.push(() => response.writeHead(204).end());
    });
    receiver.answer(...hang);
    for (let sent = 0; sent < 8; sent++) await start();
    await expect.poll(() => receiver.received.length, { timeout: 8_000 }).toBe(4);
    const other = await startReceiver();
    const { thread_id } = await client.threads.create();
    await client.runs.create(thread_id, "echo", { input: human("hi"), webhook: `${other.url}/` });
    await expect.poll(() => other.received.length, { timeout: 8_000 }).toBe(1);
    expect(receiver.received).toHaveLength(4);
    await expect
      .poll(
        async () => {
          for (const release of held.splice(0)) release();
          return outbox();
        },
        { timeout: 8_000 },
      )
      .toEqual([]);
    expect(receiver.received).toHaveLength(8);
    await other.close();
  }, 20_000);

  it("that was under way when its server stopped is made by the next server, with the same id", async () => {
    const stopping = await startApp({ env: ENV });
    receiver.answer(() => undefined);
    const run = await stopping.client.runs.create(
      (await stopping.client.threads.create()).thread_id,
      "echo",
      { input: human("hi"), webhook: `${receiver.url}/` },
    );
    await expect.poll(() => receiver.received.length).toBe(1);
    const { database } = stopping;
    await stopping.app.close();
    const [row] = await database.db.query(
      "select attempts, due_at <= clock_timestamp() as due from heddle.webhooks",
    );
    expect(row).toEqual({ attempts: 0, due: true });

    const next = await startApp({ env: ENV, beside: stopping });
    await expect.poll(() => receiver.received.length).toBe(2);
    const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(ids).toEqual([run.run_id, run.run_id]);
    await expect.poll(() => database.db.query("select 1 from heddle.webhooks")).toEqual([]);
    await next.close();
    await stopping.close();
  });

  it("of a server that died is made by another when its time is over", async () => {
    const held: (() => void)[] = [];
    receiver.answer((response) => void held.push(() => response.writeHead(500).end()));
    const { run_id } = await start();
    await expect.poll(() => receiver.received.length).toBe(1);
    // The lease of who holds it has run out: whoever it is, it counts no more.
    await makeDue(run_id);
    await delivered(2);
    for (const release of held) release();
    await expect.poll(outbox).toEqual([]);
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([run_id, run_id]);
  });

  it("of many webhooks by two servers is one each", async () => {
    const two = await startApp({ env: ENV, beside: one });
    const threads = await Promise.all(Array.from({ length: 30 }, () => client.threads.create()));
    const runs = await Promise.all(
      threads.map(({ thread_id }, index) =>
        (index % 2 ? one : two).client.runs.create(thread_id, "echo", {
          input: human("hi"),
          webhook: `${receiver.url}/`,
        }),
      ),
    );
    const got = await delivered(30);
    expect(new Set(got.map(({ body }) => body.run_id))).toEqual(new Set(runs.map(({ run_id }) => run_id)));
    await two.close();
  }, 20_000);
});
