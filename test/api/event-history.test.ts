// What a reader gets who asks for events that are not there: with an id that the run does not have, or after the time
// for which events are kept.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { expireEvents } from "../../src/events/expire-events.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { human } from "../helpers/sdk.ts";

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp();
});
afterAll(() => heddle.close());
afterEach(() => {
  vi.useRealTimers();
});

interface Run {
  readonly thread_id: string;
  readonly run_id: string;
}

const read = async ({ thread_id, run_id }: Run, lastEventId?: string) => {
  const response = await fetch(`${heddle.url}/threads/${thread_id}/runs/${run_id}/stream`, {
    headers: lastEventId === undefined ? {} : { "last-event-id": lastEventId },
  });
  expect(response.status).toBe(200);
  return (await response.text()).replaceAll(": heartbeat\n\n", "");
};

async function start(text: string, body: object = {}): Promise<Run> {
  const { thread_id } = await heddle.client.threads.create();
  const { run_id } = await heddle.client.runs.create(thread_id, "script", {
    input: human(text),
    streamMode: ["values", "messages-tuple"],
    ...body,
  });
  return { thread_id, run_id };
}

async function finished(text: string): Promise<Run> {
  const run = await start(text);
  await heddle.client.runs.join(run.thread_id, run.run_id);
  return run;
}

const query = (text: string, { run_id }: Run) => heddle.database.db.query(text, [run_id]);
const eventCount = async (run: Run) =>
  (await query("select 1 from heddle.run_events where run_id = $1::uuid", run)).length;
const endedHoursAgo = (run: Run, hours: number) =>
  query(`update heddle.runs set updated_at = now() - interval '${hours} hours' where run_id = $1::uuid`, run);

describe("a Last-Event-ID", () => {
  const WRONG = ["-1", "abc", "9e99", "1e1", "", " ", "-5", "0x1", "1.0", "1, 2", "999999999", "9999999999"];
  const HUGE = ["9".repeat(400), "99999999999999999999", "NaN", "null", "'; drop table heddle.runs; --"];

  it("that is no id of the run gets all of it, from the start", async () => {
    const run = await finished("say abc");
    const all = await read(run, "-1");
    expect(all).toMatch(/^event: metadata\n/);
    for (const id of [...WRONG, ...HUGE]) expect(await read(run, id), `Last-Event-ID: ${id}`).toBe(all);
  });

  it("gets what comes after it; the last one gets nothing", async () => {
    const run = await finished("say abc");
    const frames = (await read(run, "-1")).split(/(?<=\n\n)/);
    for (const index of frames.keys()) {
      expect(await read(run, String(index))).toBe(frames.slice(index + 1).join(""));
    }
  });

  it("of another run gets the start of this one or what this one has after it, and nothing of the other", async () => {
    const long = await finished(`say ${"other ".repeat(20)}`);
    const short = await finished("do it");
    const ids = [...(await read(long, "-1")).matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
    const frames = (await read(short, "-1")).split(/(?<=\n\n)/);
    expect(ids.length).toBeGreaterThan(frames.length);
    for (const id of ids) {
      const rest = frames.slice(id < frames.length ? id + 1 : 0);
      expect(await read(short, String(id))).toBe(rest.join(""));
    }
  });

  it("that a running run does not have yet misses nothing of it", async () => {
    const run = await start("wait far ahead");
    await gateReached("far ahead");
    const reading = read(run, "1000");
    openGate("far ahead");
    expect(await reading).toBe(await read(run, "-1"));
  });

  it("is not needed: without it a reader gets what is new, of an ended run nothing", async () => {
    expect(await read(await finished("do it"))).toBe("");
  });
});

describe("the events of a run that ended long ago", () => {
  const HOUR = 3600;

  it("are deleted, those of a newer one and of one that has not ended are not", async () => {
    const [old, recent, unfinished] = [
      await finished("do old"),
      await finished("do new"),
      await start("wait kept"),
    ];
    await gateReached("kept");
    await expect.poll(() => eventCount(unfinished)).toBeGreaterThan(0);
    const before = await eventCount(recent);
    await endedHoursAgo(old, 2);
    await endedHoursAgo(unfinished, 100);
    expect(await expireEvents(heddle.database.db, HOUR)).toBe(1);
    expect(await eventCount(old)).toBe(0);
    expect(await eventCount(recent)).toBe(before);
    expect(await eventCount(unfinished)).toBeGreaterThan(0);
    expect(await expireEvents(heddle.database.db, HOUR)).toBe(0);
    openGate("kept");
    await heddle.client.runs.join(unfinished.thread_id, unfinished.run_id);
    expect(await read(unfinished, "-1")).toMatch(/^event: metadata\n/);
  });

  it("are told to be gone, to every reader; the run and its result are still there", async () => {
    const run = await finished("do it");
    const result = await heddle.client.runs.join(run.thread_id, run.run_id);
    await endedHoursAgo(run, 2);
    await expireEvents(heddle.database.db, HOUR);
    for (const id of ["-1", "0", "2", "999", undefined]) {
      expect(await read(run, id)).toMatch(
        /^event: error\ndata: {"error":"EventsExpired","message":"[^"]* success[^"]*"}\n\n$/,
      );
    }
    expect(await heddle.client.runs.join(run.thread_id, run.run_id)).toEqual(result);
    expect(await heddle.client.runs.get(run.thread_id, run.run_id)).toMatchObject({ status: "success" });
  });

  it("were those of a question: who waits for the run still gets the question", async () => {
    const run = await finished("ask which?");
    const result = await heddle.client.runs.join(run.thread_id, run.run_id);
    expect(result).toMatchObject({ __interrupt__: [{ value: "which?" }] });
    await endedHoursAgo(run, 2);
    await expireEvents(heddle.database.db, HOUR);
    expect(await heddle.client.runs.join(run.thread_id, run.run_id)).toEqual(result);
  });

  it("are not shown in part while they are being deleted", async () => {
    const run = await finished("say abcdef");
    await endedHoursAgo(run, 2);
    await query("update heddle.runs set events = 'expired' where run_id = $1::uuid", run);
    await query(
      `delete from heddle.run_events where run_id = $1::uuid and seq =
         (select max(seq) from heddle.run_events where run_id = $1::uuid and event = 'values')`,
      run,
    );
    expect(await read(run, "-1")).toContain("EventsExpired");
    expect(await heddle.client.runs.join(run.thread_id, run.run_id)).toMatchObject({
      messages: [{ content: "say abcdef" }, { content: "abcdef" }],
    });
    // What a process that died has left is found again.
    await expireEvents(heddle.database.db, HOUR);
    expect(await eventCount(run)).toBe(0);
  });

  it("go in batches, once, when several instances delete at the same time", async () => {
    const runs = await Promise.all(Array.from({ length: 12 }, () => finished("do it")));
    for (const run of runs) {
      await endedHoursAgo(run, 2);
      await query(
        `insert into heddle.run_events (run_id, seq, event, data)
         select $1::uuid, i, 'custom', '{}' from generate_series(100, 2000) as i`,
        run,
      );
    }
    const { db } = heddle.database;
    const expire = () => expireEvents(db, HOUR);
    const counts = await Promise.all([expire(), expire(), expire()]);
    expect(counts.reduce((sum, count) => sum + count, 0) + (await expire())).toBe(runs.length);
    for (const run of runs) expect(await eventCount(run)).toBe(0);
  });

  it("are deleted by a server that runs, after the time that is set", async () => {
    const [run, older] = [await finished("do it"), await finished("do it")];
    await endedHoursAgo(run, 2);
    await endedHoursAgo(older, 4);
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const patient = await startApp({ beside: heddle, env: { EVENT_RETENTION: "3h", WORKERS: "0" } });
    vi.advanceTimersByTime(60_000);
    await expect.poll(() => eventCount(older)).toBe(0);
    await patient.close();
    expect(await eventCount(run)).toBeGreaterThan(0);
    const strict = await startApp({ beside: heddle, env: { EVENT_RETENTION: "1h", WORKERS: "0" } });
    vi.advanceTimersByTime(60_000);
    await expect.poll(() => eventCount(run)).toBe(0);
    await strict.close();
  });
});
