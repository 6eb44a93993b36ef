// Leases and fencing: a run whose worker is gone goes on elsewhere, and the one that comes back writes nothing. Time is
// moved in the data: a lease that is over is a lease whose end lies in the past.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Checkpointer, FENCE_KEY, FencedError } from "../../src/db/checkpointer.ts";
import { createEventLog, LostRunError } from "../../src/events/event-log.ts";
import { createHub } from "../../src/events/hub.ts";
import { claimRun, finishRun, releaseRun, renewLeases } from "../../src/runs/runs.sql.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { collect, human, lastText } from "../helpers/sdk.ts";
import { takeOver } from "../helpers/take-over.ts";

let heddle: TestApp;
/** Takes runs and does not run them. */
let idle: TestApp;
beforeAll(async () => {
  heddle = await startApp();
  idle = await startApp({ beside: heddle, env: { WORKERS: "0" } });
});
afterAll(async () => {
  await idle.close();
  await heddle.close();
});

const db = () => heddle.database.db;
const endLease = (runId: string) =>
  db().query(
    "update heddle.runs set lease_until = clock_timestamp() - interval '1 second' where run_id = $1::uuid",
    [runId],
  );
const claim = () => claimRun(db(), { owner: "test", leaseSeconds: 60, maxCrashes: 3 });

describe("a run that another instance took", () => {
  it("is executed here, and its events and result are read there", async () => {
    const { thread_id } = await idle.client.threads.create();
    const events = await collect(
      idle.client.runs.stream(thread_id, "script", {
        input: human("note it"),
        streamMode: ["custom", "values"],
      }),
    );
    expect(events.map((event) => event.event)).toEqual(["metadata", "values", "custom", "values"]);
    expect(lastText(await idle.client.runs.wait(thread_id, "script", { input: human("do b") }))).toBe("3 b");
  });

  it("is cancelled from there", async () => {
    const { thread_id } = await idle.client.threads.create();
    const run = await idle.client.runs.create(thread_id, "script", { input: human("wait elsewhere") });
    await gateReached("elsewhere");
    await idle.client.runs.cancel(thread_id, run.run_id, true);
    expect((await idle.client.runs.get(thread_id, run.run_id)).status).toBe("interrupted");
  });
});

describe("a run whose worker has lost it", () => {
  it("goes on with the next worker, which says so; the first one's answer is refused", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const run = await heddle.client.runs.create(thread_id, "script", {
      input: human("wait lost"),
      streamMode: "values",
    });
    await gateReached("lost");
    const other = await startApp({ beside: heddle });
    const stream = collect(other.client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" }));
    await takeOver(heddle, run.run_id);
    openGate("lost");
    const events = await stream;
    expect(events.filter((event) => event.event === "metadata").map((event) => event.data)).toEqual([
      { run_id: run.run_id, attempt: 1 },
      { run_id: run.run_id, attempt: 2 },
    ]);
    const { values } = await other.client.threads.getState<{ messages: { content: string }[] }>(thread_id);
    expect(values.messages.map((message) => message.content)).toEqual(["wait lost", "1 waited"]);
    expect((await other.client.runs.get(thread_id, run.run_id)).status).toBe("success");
    await other.close();
  });

  it("ends as an error with the reason crashed when it has ended three workers", async () => {
    const { thread_id } = await idle.client.threads.create();
    const run = await idle.client.runs.create(thread_id, "script", {
      input: human("do it"),
      afterSeconds: 3600,
    });
    await db().query(
      `update heddle.runs set status = 'running', attempt = 3, crashes = 2, fencing_token = 1, lease_owner = 'gone',
         lease_until = clock_timestamp() - interval '1 second', lease_renewed_at = clock_timestamp(),
         available_at = now() where run_id = $1::uuid`,
      [run.run_id],
    );
    expect(await idle.client.runs.join(thread_id, run.run_id)).toMatchObject({
      __error__: { error: "RunCrashed" },
    });
    const ended = await idle.client.runs.get(thread_id, run.run_id);
    expect(ended).toMatchObject({ status: "error", error: { error: "RunCrashed" } });
    expect((await idle.client.threads.get(thread_id)).status).toBe("error");
    const events = await collect(idle.client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" }));
    expect(events).toMatchObject([{ event: "error", data: { error: "RunCrashed" } }]);
  });
});

describe("a cancel that finds no worker", () => {
  // The worker that had the run is gone, and has not been missed yet.
  const orphan = async (threadId: string) => {
    const run = await heddle.client.runs.create(threadId, "script", {
      input: human("do it"),
      afterSeconds: 3600,
    });
    await db().query(
      `update heddle.runs set status = 'running', attempt = 1, fencing_token = 1, lease_owner = 'gone',
         lease_until = clock_timestamp() + interval '1 hour', available_at = now() where run_id = $1::uuid`,
      [run.run_id],
    );
    return run;
  };

  it("interrupt: the next worker ends the run and runs nothing of it", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const run = await orphan(thread_id);
    await heddle.client.runs.cancel(thread_id, run.run_id);
    await endLease(run.run_id);
    await heddle.client.runs.join(thread_id, run.run_id);
    expect((await heddle.client.runs.get(thread_id, run.run_id)).status).toBe("interrupted");
    expect(await heddle.client.threads.getHistory(thread_id)).toEqual([]);
  });

  it("rollback: the next worker removes the run", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const run = await orphan(thread_id);
    await heddle.client.runs.cancel(thread_id, run.run_id, false, "rollback");
    await endLease(run.run_id);
    await expect
      .poll(() => db().query("select 1 from heddle.runs where run_id = $1::uuid", [run.run_id]))
      .toEqual([]);
    expect((await heddle.client.threads.get(thread_id)).status).toBe("idle");
  });
});

describe("a rollback that comes while a run ends", () => {
  it("is not lost: the run does not end, its worker is told to roll it back", async () => {
    const alone = await startApp({ env: { WORKERS: "0" } });
    const { db } = alone.database;
    const { thread_id } = await alone.client.threads.create();
    const { run_id } = await alone.client.runs.create(thread_id, "script", { input: human("do it") });
    const run = await claimRun(db, { owner: "test", leaseSeconds: 60, maxCrashes: 3 });
    await alone.client.runs.cancel(thread_id, run_id, false, "rollback");
    const end = {
      runId: run_id,
      token: run?.fencing_token ?? "",
      status: "success",
      error: null,
      threadStatus: "idle",
      interrupts: {},
      keepSeconds: null,
      events: [],
    } as const;
    expect(await finishRun(db, end)).toBe("rollback");
    expect((await alone.client.runs.get(thread_id, run_id)).status).toBe("running");
    await alone.close();
  });
});

describe("a worker that comes back after its lease", () => {
  it("can write no checkpoint, no event, no status, and is told so when it renews", async () => {
    const alone = await startApp({ env: { WORKERS: "0" } });
    const { db } = alone.database;
    const { thread_id } = await alone.client.threads.create();
    await alone.client.runs.create(thread_id, "script", { input: human("do it") });
    const first = await claimRun(db, { owner: "first", leaseSeconds: 60, maxCrashes: 3 });
    if (!first) throw new Error("no run");
    expect(await claimRun(db, { owner: "second", leaseSeconds: 60, maxCrashes: 3 })).toBeUndefined();
    await db.query("update heddle.runs set lease_until = clock_timestamp() - interval '1 second'");
    const second = await claimRun(db, { owner: "second", leaseSeconds: 60, maxCrashes: 3 });
    expect(second).toMatchObject({ run_id: first.run_id, attempt: 2 });
    expect(BigInt(second?.fencing_token ?? 0)).toBeGreaterThan(BigInt(first.fencing_token));

    const checkpointer = new Checkpointer(db);
    const config = { configurable: { thread_id, checkpoint_ns: "", [FENCE_KEY]: first.fencing_token } };
    const checkpoint = {
      v: 4,
      id: "1",
      ts: "",
      channel_values: { a: 1 },
      channel_versions: { a: 1 },
      versions_seen: {},
    };
    const metadata = { source: "loop" as const, step: 0, parents: {} };
    await expect(checkpointer.put(config, checkpoint, metadata, { a: 1 })).rejects.toThrow(FencedError);
    const at = { configurable: { ...config.configurable, checkpoint_id: "1" } };
    await expect(checkpointer.putWrites(at, [["a", 1]], "task")).rejects.toThrow(FencedError);

    const hub = createHub();
    const writer = createEventLog({ db, hub }).open(first.run_id, first.fencing_token, 0);
    writer.append("values", "{}");
    await expect(
      (async () => {
        for (;;) {
          await new Promise(setImmediate);
          await writer.ready();
        }
      })(),
    ).rejects.toThrow(LostRunError);

    const end = {
      status: "success",
      error: null,
      threadStatus: "idle",
      interrupts: {},
      keepSeconds: null,
      events: [],
    } as const;
    expect(await finishRun(db, { ...end, runId: first.run_id, token: first.fencing_token })).toBe("lost");
    expect(await renewLeases(db, [{ runId: first.run_id, token: first.fencing_token }], 60)).toEqual([]);
    for (const table of ["checkpoints", "checkpoint_blobs", "checkpoint_writes", "run_events"]) {
      expect(await db.query(`select 1 from heddle.${table}`), table).toEqual([]);
    }
    expect(await finishRun(db, { ...end, runId: first.run_id, token: second?.fencing_token ?? "" })).toBe(
      "done",
    );
    await alone.close();
  });
});

describe("a write that is still on its way", () => {
  it.each(["given back", "ended"])(
    "is refused when its run was %s, though nobody has the thread",
    async (how) => {
      const alone = await startApp({ env: { WORKERS: "0" } });
      const { db } = alone.database;
      const { thread_id } = await alone.client.threads.create();
      await alone.client.runs.create(thread_id, "script", { input: human("do it") });
      const run = await claimRun(db, { owner: "test", leaseSeconds: 60, maxCrashes: 3 });
      if (!run) throw new Error("no run");
      const { run_id: runId, fencing_token: token } = run;
      if (how === "given back") await releaseRun(db, run);
      else {
        const end = {
          status: "success",
          error: null,
          threadStatus: "idle",
          interrupts: {},
          keepSeconds: null,
        } as const;
        expect(await finishRun(db, { ...end, runId, token, events: [] })).toBe("done");
      }
      const [row] = await db.query("select status from heddle.runs where run_id = $1::uuid", [runId]);
      expect(row).toEqual({ status: how === "ended" ? "success" : "pending" });
      const config = {
        configurable: { thread_id, checkpoint_ns: "", checkpoint_id: "1", [FENCE_KEY]: token },
      };
      await expect(new Checkpointer(db).putWrites(config, [["a", 1]], "task")).rejects.toThrow(FencedError);
      await alone.close();
    },
  );
});

describe("claiming", () => {
  it("gives each run once and a thread's runs in order, to many workers at once", async () => {
    const alone = await startApp({ env: { WORKERS: "0" } });
    const { db } = alone.database;
    const threads = await Promise.all(Array.from({ length: 5 }, () => alone.client.threads.create()));
    for (let i = 0; i < 8; i++) {
      for (const { thread_id } of threads) {
        await alone.client.runs.create(thread_id, "script", {
          input: human(`do ${i}`),
          multitaskStrategy: "enqueue",
        });
      }
    }
    const order = new Map<string, string[]>();
    const live = new Set<string>();
    const work = async (owner: string) => {
      for (;;) {
        const run = await claimRun(db, { owner, leaseSeconds: 60, maxCrashes: 3 });
        if (!run) {
          const [left] = await db.query(
            "select 1 from heddle.runs where status in ('pending', 'running') limit 1",
          );
          if (!left) return;
          continue;
        }
        expect(live.has(run.thread_id), "two runs of a thread at once").toBe(false);
        live.add(run.thread_id);
        const input = run.kwargs.input as ReturnType<typeof human>;
        order.set(run.thread_id, [...(order.get(run.thread_id) ?? []), input.messages[0]?.content ?? ""]);
        await new Promise(setImmediate);
        live.delete(run.thread_id);
        await finishRun(db, {
          runId: run.run_id,
          token: run.fencing_token,
          status: "success",
          error: null,
          threadStatus: "idle",
          interrupts: {},
          keepSeconds: null,
          events: [],
        });
      }
    };
    await Promise.all(Array.from({ length: 8 }, (_, i) => work(`w${i}`)));
    expect(order.size).toBe(5);
    for (const texts of order.values()) expect(texts).toEqual([0, 1, 2, 3, 4, 5, 6, 7].map((i) => `do ${i}`));
    await alone.close();
  });

  it("finds nothing when there is nothing", async () => {
    expect(await claim()).toBeUndefined();
  });
});

describe("a server that is told to stop", () => {
  it("gives an unfinished run back to the queue, and another server ends it", async () => {
    const stopping = await startApp({ beside: heddle });
    const { thread_id } = await stopping.client.threads.create();
    // Held until both servers have had it: whoever claims it first.
    const run = await stopping.client.runs.create(thread_id, "script", { input: human("wait handover") });
    await gateReached("handover");
    // What the first attempt has sent stays in the log.
    const stream = stopping.client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" });
    expect((await stream.next()).value).toMatchObject({ event: "metadata", data: { attempt: 1 } });
    await stopping.close();
    openGate("handover");
    const joined = await heddle.client.runs.join(thread_id, run.run_id);
    expect(lastText(joined)).toBe("1 waited");
    const events = await collect(heddle.client.runs.joinStream(thread_id, run.run_id, { lastEventId: "-1" }));
    expect(events.filter((event) => event.event === "metadata")).toHaveLength(2);
    expect((await heddle.client.runs.get(thread_id, run.run_id)).status).toBe("success");
  });
});
