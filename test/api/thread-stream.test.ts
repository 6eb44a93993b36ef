// The joined stream of a thread: all its runs, one after the other, with ids that go on over runs and servers.
import { createParser } from "eventsource-parser";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { collect, human } from "../helpers/sdk.ts";

let heddle: TestApp;
let other: TestApp;
beforeAll(async () => {
  heddle = await startApp();
  other = await startApp({ beside: heddle });
});
afterAll(async () => {
  await other.close();
  await heddle.close();
});

interface Event {
  readonly id?: string | undefined;
  readonly event?: string | undefined;
  readonly data: string;
}

/** Reads a thread's stream until it is stopped. */
function join(
  app: TestApp,
  threadId: string,
  { after, query = "" }: { after?: string; query?: string } = {},
) {
  const events: Event[] = [];
  const controller = new AbortController();
  const parser = createParser({ onEvent: (event) => void events.push(event) });
  const opened = fetch(`${app.url}/threads/${threadId}/stream${query}`, {
    headers: after === undefined ? {} : { "last-event-id": after },
    signal: controller.signal,
  }).then((response) => {
    expect(response.status).toBe(200);
    void (async () => {
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? []) parser.feed(decoder.decode(chunk, { stream: true }));
    })().catch(() => undefined);
  });
  return { events, opened, stop: () => controller.abort() };
}

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const wait = (threadId: string, text: string, payload: object = {}) =>
  heddle.client.runs.wait(threadId, "script", { input: human(text), ...payload });
const runsDone = (events: readonly Event[]) => events.filter(({ data }) => data.includes("run_done")).length;

it("has all that the runs send, in order, then that each is done; its ids grow", async () => {
  const threadId = await newThread();
  await wait(threadId, "do a", { streamMode: ["values", "updates"] });
  await wait(threadId, "fail b", { raiseError: false });
  const stream = join(heddle, threadId, { after: "-1" });
  await expect.poll(() => runsDone(stream.events)).toBe(2);
  await wait(threadId, "do c");
  await expect.poll(() => runsDone(stream.events)).toBe(3);
  stream.stop();
  const runs = (await heddle.client.runs.list(threadId)).toReversed();
  const expected: unknown[] = [];
  for (const { run_id } of runs) {
    const own = await collect(heddle.client.runs.joinStream(threadId, run_id, { lastEventId: "-1" }));
    expected.push(...own.map(({ event, data }) => ({ event, data })));
    expected.push({ event: "metadata", data: { status: "run_done", run_id } });
  }
  expect(stream.events.map(({ event, data }) => ({ event, data: JSON.parse(data) }))).toEqual(expected);
  const ids = stream.events.map(({ id }) => Number(id));
  expect(ids).toEqual([...new Set(ids)].sort((a, b) => a - b));
});

it("goes on behind every id, on any server, with the same bytes", async () => {
  const threadId = await newThread();
  await wait(threadId, "note a", { streamMode: ["values", "custom"] });
  await wait(threadId, "do b");
  const whole = join(heddle, threadId, { after: "-1" });
  await expect.poll(() => runsDone(whole.events)).toBe(2);
  whole.stop();
  for (const [index, { id = "" }] of whole.events.entries()) {
    const rest = whole.events.slice(index + 1);
    const part = join(other, threadId, { after: id });
    await expect.poll(() => part.events.length).toBe(rest.length);
    // What comes twice would come before this.
    if (index === whole.events.length - 1) {
      await wait(threadId, "do c");
      await expect.poll(() => runsDone(part.events)).toBe(1);
      expect(part.events[0]?.data).toContain('"attempt":1');
    } else expect(part.events).toEqual(rest);
    part.stop();
  }
});

it("shows who joins without an id what happens from now on, also of a run that is under way on another server", async () => {
  const threadId = await newThread();
  await wait(threadId, "do before");
  const run = await heddle.client.runs.create(threadId, "script", { input: human("wait joined") });
  await gateReached("joined");
  const stream = join(other, threadId);
  await stream.opened;
  openGate("joined");
  await expect.poll(() => runsDone(stream.events)).toBe(1);
  await wait(threadId, "do after");
  await expect.poll(() => runsDone(stream.events)).toBe(2);
  stream.stop();
  const text = JSON.stringify(stream.events);
  expect(text).toContain("waited");
  expect(text).toContain("after");
  const metadata = stream.events
    .filter(({ event }) => event === "metadata")
    .map(({ data }) => JSON.parse(data));
  expect(metadata).toMatchObject([
    { status: "run_done", run_id: run.run_id },
    { attempt: 1 },
    { status: "run_done" },
  ]);
});

it("shows only that runs begin and end to who wants the lifecycle", async () => {
  const threadId = await newThread();
  await wait(threadId, "do a");
  for (const query of ["?stream_mode=lifecycle", "?stream_modes=lifecycle&stream_modes=state_update"]) {
    const stream = join(heddle, threadId, { after: "-1", query });
    await expect.poll(() => runsDone(stream.events)).toBe(1);
    stream.stop();
    expect(stream.events.map(({ event }) => event)).toEqual(["metadata", "metadata"]);
  }
});

it("is what the SDK reads, ends with its thread, and is not there for one that is not", async () => {
  const client = new NextClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
  const threadId = await newThread();
  await wait(threadId, "do a");
  const events: unknown[] = [];
  for await (const { event } of client.threads.joinStream(threadId, { lastEventId: "-1" })) {
    events.push(event);
    if (events.length === 4) await heddle.client.threads.delete(threadId);
  }
  expect(events).toEqual(["metadata", "values", "values", "metadata"]);
  const gone = await fetch(`${heddle.url}/threads/${threadId}/stream`);
  expect([gone.status, await gone.text()]).toEqual([404, `Thread with ID ${threadId} not found`]);
  expect((await fetch(`${heddle.url}/threads/x/stream`)).status).toBe(422);
  expect((await fetch(`${heddle.url}/threads/${threadId}/stream?stream_mode=odd`)).status).toBe(422);
});
