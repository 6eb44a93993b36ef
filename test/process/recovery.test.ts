// Servers as processes that die, hang or stop while they run something. The rig in test/recovery does this at random;
// here each case is once, and small.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { type HeddleProcess, startProcess } from "../helpers/process.ts";
import { human, lastText } from "../helpers/sdk.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/graphs/langgraph.json");
let database: TestDatabase;
let folder: string;
const running: HeddleProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(path.join(tmpdir(), "heddle-recovery-"));
});
afterEach(async () => {
  for (const heddle of running.splice(0)) await heddle.stop("SIGKILL");
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}) {
  const server = startProcess({
    env: { DATA_DIR: folder, DATABASE_URL: database.url, LOG_LEVEL: "warn", ...env },
    args: ["--config", GRAPHS],
  });
  running.push(server);
  const apiUrl = await server.listening();
  return { server, url: apiUrl, client: new Client({ apiUrl, callerOptions: { maxRetries: 0 } }) };
}

const attempts = async (runId: string) => {
  const [run] = await database.db.query<{ attempt: number; crashes: number }>(
    "select attempt, crashes from heddle.runs where run_id = $1::uuid",
    [runId],
  );
  return run;
};

const isRunning = (client: Client, threadId: string, runId: string) =>
  expect
    .poll(async () => (await client.runs.get(threadId, runId)).status, { timeout: 10_000 })
    .toBe("running");

describe("a server that is killed", () => {
  it("leaves its run to its successor, which does not wait for the lease", async () => {
    const first = await start({ LEASE_SECONDS: "3600" });
    const { thread_id } = await first.client.threads.create();
    const run = await first.client.runs.create(thread_id, "script", { input: human("wait killed") });
    await isRunning(first.client, thread_id, run.run_id);
    await first.server.stop("SIGKILL");
    const second = await start({ LEASE_SECONDS: "3600" });
    await expect.poll(() => attempts(run.run_id)).toEqual({ attempt: 2, crashes: 1 });
    await second.client.runs.cancel(thread_id, run.run_id, true);
  });

  it("again and again by one run, keeps no other run from its end, and ends that one as crashed", async () => {
    const { client, server } = await start({ WORKERS: "0" });
    const [long, deadly] = await Promise.all(
      ["linger 2000", "die"].map(async (text) => {
        const { thread_id } = await client.threads.create();
        return client.runs.create(thread_id, "script", { input: human(text) });
      }),
    );
    if (!long || !deadly) throw new Error("no runs");
    // Both run at once, twice. From then on each runs alone, so that only the one to blame is counted.
    for (let starts = 0; starts < 3; starts++) await (await start({ LEASE_SECONDS: "3600" })).server.ended();
    const last = await start({ LEASE_SECONDS: "3600" });
    await expect
      .poll(async () => (await last.client.runs.get(deadly.thread_id, deadly.run_id)).status)
      .toBe("error");
    await expect
      .poll(async () => (await last.client.runs.get(long.thread_id, long.run_id)).status)
      .toBe("success");
    expect(await attempts(long.run_id)).toEqual({ attempt: 3, crashes: 2 });
    await server.stop();
  }, 30_000);
});

describe("a graph that blocks the event loop", () => {
  it("keeps its lease, and nobody else starts its run", async () => {
    const blocked = await start({ LEASE_SECONDS: "3" });
    const { thread_id } = await blocked.client.threads.create();
    const other = await start({ LEASE_SECONDS: "3", WORKERS: "0" });
    const run = await other.client.runs.create(thread_id, "script", { input: human("block 7000") });
    await isRunning(other.client, thread_id, run.run_id);
    const waiting = await start({ LEASE_SECONDS: "3" });
    expect(lastText(await waiting.client.runs.join(thread_id, run.run_id))).toBe("1 blocked");
    expect(await attempts(run.run_id)).toEqual({ attempt: 1, crashes: 0 });
  });

  it("for too long ends its process, and says why", async () => {
    const { client, server } = await start({ LEASE_SECONDS: "3", STUCK_SECONDS: "10" });
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "script", { input: human("block 3600000") });
    expect(await server.ended()).toEqual({ code: null, signal: "SIGKILL" });
    expect(server.output()).toContain("blocked the event loop for 10 seconds");
    expect(server.output()).toContain(run.run_id);
    await database.db.query("delete from heddle.runs where run_id = $1::uuid", [run.run_id]);
  }, 30_000);
});

describe("a server that is told to stop", () => {
  it("ends in its time though a graph ignores its signal, and gives the run back", async () => {
    const { client, server, url } = await start({ LEASE_SECONDS: "3600", GRACE_SECONDS: "1" });
    const { thread_id } = await client.threads.create();
    const run = await client.runs.create(thread_id, "script", { input: human("linger 3600000") });
    await isRunning(client, thread_id, run.run_id);
    const stream = await fetch(`${url}/threads/${thread_id}/runs/${run.run_id}/stream`, {
      headers: { "last-event-id": "-1" },
    });
    server.child.kill("SIGTERM");
    // At once, not when the runs have ended.
    await expect.poll(async () => (await fetch(`${url}/ok`)).status).toBe(503);
    // Broken off, not ended: the client is to connect again.
    const received: string[] = [];
    const reading = (async () => {
      for await (const chunk of stream.body ?? []) received.push(Buffer.from(chunk).toString());
    })();
    await expect(reading).rejects.toThrow("terminated");
    expect(received.join("")).toContain("retry: 500\n\n");
    expect(await server.ended()).toEqual({ code: 0, signal: null });
    const [row] = await database.db.query(
      "select status, lease_owner from heddle.runs where run_id = $1::uuid",
      [run.run_id],
    );
    expect(row).toEqual({ status: "pending", lease_owner: null });
  });
});

describe("servers with roles", () => {
  it("an api server takes runs, a worker runs them and answers only about itself", async () => {
    const api = await start({ ROLE: "api" });
    const worker = await start({ ROLE: "worker" });
    const { thread_id } = await api.client.threads.create();
    expect(lastText(await api.client.runs.wait(thread_id, "script", { input: human("do it") }))).toBe("1 it");
    expect((await fetch(`${worker.url}/ok`)).status).toBe(200);
    await expect(worker.client.threads.create()).rejects.toThrow("HTTP 404");
  });
});
