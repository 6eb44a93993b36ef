// The long run of a conversation, as its run and lease say: alive, stale, recovered, ended; started once.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { DeepResearchRun } from "../../src/kit/conversation-values.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { human } from "../helpers/sdk.ts";
import { takeOver } from "../helpers/take-over.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/conversations/langgraph.json");
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
});
afterAll(() => heddle.close());

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const metadata = { isDeepResearch: true };
const start = (threadId: string, text: string, options: object = {}) =>
  heddle.client.runs.create(threadId, "deeds", { input: human(text), metadata, ...options });
const read = async (threadId: string) => {
  const response = await fetch(`${heddle.url}/threads/${threadId}/conversation`);
  return ((await response.json()) as { values: { deepResearchRun?: DeepResearchRun } }).values
    .deepResearchRun;
};
const leaseOf = async (runId: string) => {
  const [row] = await heddle.database.db.query<{ lease_renewed_at: Date; lease_until: Date }>(
    "select lease_renewed_at, lease_until from heddle.runs where run_id = $1::uuid",
    [runId],
  );
  return row;
};

describe("deepResearchRun", () => {
  it("says what the lease says while the run is alive, and its end afterwards", async () => {
    const threadId = await newThread();
    expect(await read(threadId)).toBeUndefined();
    const { run_id } = await start(threadId, "wait alive-gate", {
      input: { messages: [{ role: "user", content: "wait alive-gate", id: "root" }] },
    });
    await gateReached("alive-gate");
    const lease = await leaseOf(run_id);
    const alive = await read(threadId);
    expect(alive).toEqual({
      isRunning: true,
      rootMessageId: "root",
      stateId: run_id,
      mode: "queue",
      jobId: run_id,
      startedAt: expect.stringMatching(TIME),
      lastHeartbeatAt: lease?.lease_renewed_at.toISOString(),
      expiresAt: lease?.lease_until.toISOString(),
    });
    openGate("alive-gate");
    await heddle.client.runs.join(threadId, run_id);
    const { isRunning, lastResult, startedAt, endedAt, expiresAt } = (await read(threadId)) ?? {};
    expect({ isRunning, lastResult, startedAt }).toEqual({
      isRunning: false,
      lastResult: "completed",
      startedAt: alive?.startedAt,
    });
    expect([endedAt, expiresAt]).toEqual([expect.stringMatching(TIME), endedAt]);
  });

  it("says that a run whose worker fell silent was recovered, while it goes on", async () => {
    const threadId = await newThread();
    const { run_id } = await start(threadId, "wait stale-gate");
    await gateReached("stale-gate");
    await takeOver(heddle, run_id);
    expect(await read(threadId)).toMatchObject({ isRunning: true, lastResult: "stale_recovered" });
    openGate("stale-gate");
    await heddle.client.runs.join(threadId, run_id);
    expect(await read(threadId)).toMatchObject({ isRunning: false, lastResult: "completed" });
  });

  it("has the error of a run that failed, and the reason of one that was stopped", async () => {
    const threadId = await newThread();
    const failed = await start(threadId, "fail no data");
    await heddle.client.runs.join(threadId, failed.run_id).catch(() => undefined);
    expect(await read(threadId)).toMatchObject({ lastResult: "failed", lastError: "no data" });
    const stopped = await start(threadId, "wait stopped-gate");
    await gateReached("stopped-gate");
    await heddle.client.runs.cancel(threadId, stopped.run_id, true);
    expect(await read(threadId)).toMatchObject({
      jobId: stopped.run_id,
      lastResult: "failed",
      lastError: "requested",
    });
  });

  it("is also a run that nobody has marked, once it says itself that it is deep research", async () => {
    const threadId = await newThread();
    const { run_id } = await heddle.client.runs.create(threadId, "deeds", {
      input: human("research itself-gate"),
    });
    await gateReached("itself-gate");
    expect(await read(threadId)).toMatchObject({ isRunning: true, jobId: run_id });
    await expect(start(threadId, "insight x", { multitaskStrategy: "enqueue" })).rejects.toMatchObject({
      status: 422,
    });
    openGate("itself-gate");
    await heddle.client.runs.join(threadId, run_id);
    expect(await read(threadId)).toMatchObject({ isRunning: false, lastResult: "completed" });
  });

  it("is no ordinary run of the thread", async () => {
    const threadId = await newThread();
    await heddle.client.runs.wait(threadId, "deeds", { input: human("insight x") });
    expect(await read(threadId)).toBeUndefined();
  });
});

describe("a thread's deep research", () => {
  it("starts once when it is started several times at the same moment, on two servers", async () => {
    const other = await startApp({ graphs, beside: heddle, env: { WORKERS: "0" } });
    const threadId = await newThread();
    const started = await Promise.allSettled(
      [heddle, other, heddle, other].map(({ client }) =>
        client.runs.create(threadId, "deeds", {
          input: human("wait once-gate"),
          metadata,
          multitaskStrategy: "enqueue",
        }),
      ),
    );
    expect(started.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    for (const result of started) {
      if (result.status === "rejected") {
        expect(result.reason).toMatchObject({
          status: 422,
          text: expect.stringContaining("already running deep research"),
        });
      }
    }
    // What is no deep research waits for its turn, as ever.
    const next = await heddle.client.runs.create(threadId, "deeds", {
      input: human("insight y"),
      multitaskStrategy: "enqueue",
    });
    openGate("once-gate");
    await heddle.client.runs.join(threadId, next.run_id);
    expect((await heddle.client.runs.list(threadId)).map(({ status }) => status)).toEqual([
      "success",
      "success",
    ]);
    await start(threadId, "insight again");
    await other.close();
  });

  it("gives way to a newer one that stops it", async () => {
    const threadId = await newThread();
    const first = await start(threadId, "wait steer-gate");
    await gateReached("steer-gate");
    const second = await start(threadId, "insight steered", { multitaskStrategy: "interrupt" });
    await heddle.client.runs.join(threadId, second.run_id);
    expect((await heddle.client.runs.get(threadId, first.run_id)).status).toBe("interrupted");
    expect(await read(threadId)).toMatchObject({ jobId: second.run_id, lastResult: "completed" });
  });
});
