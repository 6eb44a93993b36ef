// GET /metrics: what is counted, in text and as JSON.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { human } from "../helpers/sdk.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/http/langgraph.json");
let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp();
});
afterAll(() => heddle.close());

/** Value of each line, by its name with labels. */
async function scrape(url = heddle.url): Promise<Record<string, number>> {
  const response = await fetch(`${url}/metrics`);
  expect(response.headers.get("content-type")).toMatch(/^text\/plain; version=0\.0\.4/);
  const lines = (await response.text()).split("\n").filter((line) => line && !line.startsWith("#"));
  return Object.fromEntries(
    lines.map((line) => [
      line.slice(0, line.lastIndexOf(" ")),
      Number(line.slice(line.lastIndexOf(" ") + 1)),
    ]),
  );
}

describe("GET /metrics", () => {
  it("counts runs by their end, with durations, and requests by route and status", async () => {
    const thread = await heddle.client.threads.create();
    await heddle.client.runs.wait(thread.thread_id, "echo", { input: human("a") });
    await heddle.client.runs.wait(thread.thread_id, "echo", { input: human("b") });
    await heddle.client.runs.wait(null, "careless", {}).catch(() => undefined);
    for await (const _ of heddle.client.runs.stream(thread.thread_id, "echo", { input: human("c") }));
    await fetch(`${heddle.url}/threads/nobody`);
    await fetch(`${heddle.url}/nowhere`);
    await vi.waitFor(async () => {
      const found = await scrape();
      expect(found).toMatchObject({
        'heddle_runs_ended_total{end="success"}': 3,
        'heddle_run_duration_seconds_count{status="success"}': 3,
        'heddle_http_request_duration_seconds_count{method="POST",route="/threads/:thread_id/runs/wait",status="2xx"}': 2,
        'heddle_http_request_duration_seconds_count{method="GET",route="/threads/:thread_id",status="4xx"}': 1,
        'heddle_http_request_duration_seconds_count{method="GET",route="none",status="4xx"}': 1,
        'heddle_http_streams_total{route="/threads/:thread_id/runs/stream"}': 1,
        heddle_http_streams_open: 0,
        heddle_runs_active: 0,
        heddle_database_up: 1,
        heddle_runs_retaken_total: 0,
      });
      expect(found.process_resident_memory_bytes).toBeGreaterThan(1e6);
      expect(found['heddle_run_duration_seconds_bucket{le="+Inf",status="success"}']).toBe(3);
    });
  });

  it("shows the queue: what may start now, for how long, and what waits for its time or its thread", async () => {
    const idle = await startApp({ env: { WORKERS: "0" } });
    try {
      const { client, database } = idle;
      const thread = await client.threads.create();
      const add = (threadId: string | null, afterSeconds = 0) =>
        client.runs.create(threadId as string, "echo", {
          input: human("x"),
          multitaskStrategy: "enqueue",
          afterSeconds,
        });
      await add(thread.thread_id);
      await add(thread.thread_id);
      await add(null);
      await add(null, 3600);
      await database.db.query(
        "update heddle.runs set available_at = available_at - interval '100 seconds' where thread_id = $1",
        [thread.thread_id],
      );
      const found = await scrape(idle.url);
      expect(found).toMatchObject({ heddle_queue_depth: 2, heddle_queue_pending: 4, heddle_database_up: 1 });
      expect(found.heddle_queue_lag_seconds).toBeGreaterThanOrEqual(100);
      expect(found.heddle_queue_lag_seconds).toBeLessThan(160);
    } finally {
      await idle.close();
    }
  });

  it("counts open streams and running runs, and a request through the project's app once", async () => {
    const other = await startApp({ graphs: GRAPHS });
    try {
      const stop = new AbortController();
      const stream = other.client.runs.stream(null, "slow", {
        input: {},
        signal: stop.signal,
        onDisconnect: "cancel",
      });
      await stream[Symbol.asyncIterator]().next();
      expect(await scrape(other.url)).toMatchObject({ heddle_http_streams_open: 1, heddle_runs_active: 1 });
      stop.abort();
      await vi.waitFor(async () => {
        expect(await scrape(other.url)).toMatchObject({
          heddle_http_streams_open: 0,
          heddle_runs_active: 0,
          'heddle_runs_ended_total{end="interrupted"}': 1,
          'heddle_http_streams_total{route="/runs/stream"}': 1,
        });
      });
      await fetch(`${other.url}/info`);
      await fetch(`${other.url}/info`);
      await vi.waitFor(async () =>
        expect(await scrape(other.url)).toHaveProperty(
          ['heddle_http_request_duration_seconds_count{method="GET",route="/info",status="2xx"}'],
          2,
        ),
      );
    } finally {
      await other.close();
    }
  });

  it("comes as JSON too, refuses other forms, and is each server's own", async () => {
    const list = (await (await fetch(`${heddle.url}/metrics?format=json`)).json()) as { name: string }[];
    expect(list.map(({ name }) => name)).toContain("heddle_queue_depth");
    expect((await fetch(`${heddle.url}/metrics?format=xml`)).status).toBe(422);
    const other = await startApp({ env: { WORKERS: "0" }, beside: heddle });
    const found = await scrape(other.url);
    expect(Object.keys(found).filter((name) => name.startsWith("heddle_runs_ended"))).toEqual([]);
    await other.close();
  });

  it("says that the database is away instead of failing", async () => {
    const other = await startApp({ env: { WORKERS: "0" } });
    const name = new URL(other.database.url).pathname.slice(1);
    await heddle.database.db.query(`alter database ${name} allow_connections false`);
    await heddle.database.db.query(
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
      [name],
    );
    try {
      const found = await scrape(other.url);
      expect(found.heddle_database_up).toBe(0);
      expect(found).not.toHaveProperty("heddle_queue_depth");
    } finally {
      await heddle.database.db.query(`alter database ${name} allow_connections true`);
      await other.close();
    }
  });
});
