// What clients are told of a conversation: ids and versions, over SSE and WebSocket, from several servers, nothing twice and
// nothing left out.
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { expireConversations } from "../../src/conversations/expire.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { Caller } from "../helpers/belongings.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { followConversation, type Told } from "../helpers/notifications.ts";
import { openSocketAt } from "../helpers/protocol.ts";
import { human } from "../helpers/sdk.ts";
import { takeOver } from "../helpers/take-over.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/conversations/langgraph.json");

let heddle: TestApp;
/** Runs nothing. */
let other: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
  other = await startApp({ graphs, beside: heddle, env: { WORKERS: "0" } });
});
afterAll(async () => {
  await other.close();
  await heddle.close();
});

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const run = (threadId: string, text: string) =>
  heddle.client.runs.create(threadId, "deeds", { input: human(text) });
const patch = async ({ url }: { url: string }, threadId: string, values: object) => {
  const response = await new Caller(url, {}).send("PATCH", `/threads/${threadId}/conversation`, { values });
  if (!response.ok) throw new Error(`${response.status} ${await response.text()}`);
};
const get = async ({ url }: { url: string }, threadId: string) =>
  (await (await fetch(`${url}/threads/${threadId}/conversation`)).json()) as {
    version: number;
    values: { keyInsights?: string[] };
  };
const types = (told: readonly Told[]) => told.map(({ type }) => type);
const has = (type: string) => (told: readonly Told[]) => types(told).includes(type);

describe("a client that follows", () => {
  it("is told of a run, of what it changes, and of the change of another client: ids and versions, no data", async () => {
    const thread_id = await newThread();
    const follower = await followConversation(heddle.url, thread_id);
    const { run_id } = await run(thread_id, "insight secret");
    await follower.until(has("job:completed"));
    await patch(heddle, thread_id, { objective: "secret" });
    const told = await follower.until((all) => all.length === 5);
    const { state_id } = (await get(heddle, thread_id)) as unknown as { state_id: string };
    const job = { thread_id, run_id, message_id: run_id, attempt: 1 };
    expect(told).toEqual([
      { type: "connected", thread_id, seq: 0 },
      { type: "job:started", seq: 1, ...job },
      { type: "state:updated", thread_id, seq: 2, run_id, state_id, version: 1 },
      { type: "job:completed", seq: 3, ...job },
      { type: "state:updated", thread_id, seq: 4, state_id, version: 2 },
    ]);
    follower.close();
  });

  it("is told the same over a WebSocket, and over that of another server", async () => {
    const threadId = await newThread();
    const sockets = await Promise.all(
      [heddle, other].map(({ url }) => openSocketAt(`${url}/threads/${threadId}/notifications`)),
    );
    for (const socket of sockets) await socket.until(({ received }) => received.length === 1);
    const follower = await followConversation(heddle.url, threadId);
    await heddle.client.runs.wait(threadId, "iteration", { input: human("Why?") });
    await follower.until(has("job:completed"));
    for (const socket of sockets) {
      await socket.until(({ received }) => has("job:completed")(received));
      expect(socket.received).toEqual(follower.told);
      socket.close();
    }
    expect(new Set(types(follower.told))).toEqual(
      new Set([
        "connected",
        "job:started",
        "state:updated",
        "file:ready",
        "job:progress",
        "message:updated",
        "job:completed",
      ]),
    );
    follower.close();
  });

  it("is told of a job that failed, was cancelled or was rolled back, and of a file that cannot be read", async () => {
    const threadId = await newThread();
    const follower = await followConversation(heddle.url, threadId);
    await heddle.client.runs
      .join(threadId, (await run(threadId, "fail on purpose")).run_id)
      .catch(() => null);
    for (const action of ["interrupt", "rollback"] as const) {
      const { run_id } = await run(threadId, `wait ${action}-gate`);
      await gateReached(`${action}-gate`);
      await heddle.client.runs.cancel(threadId, run_id, true, action);
    }
    await run(threadId, "unreadable broken.pdf");
    const told = await follower.until(has("file:error"));
    const jobs = types(told).filter((type) => /^job:(started|failed)|file/.test(type));
    expect(jobs).toEqual([
      ...["job:started", "job:failed", "job:started", "job:failed", "job:started", "job:failed"],
      ...["job:started", "file:error"],
    ]);
    expect(told.find(({ type }) => type === "file:error")?.file_id).toBe("broken.pdf");
    follower.close();
  });

  it("is told that another worker goes on with a job; the one that has lost it changes nothing more", async () => {
    const threadId = await newThread();
    const follower = await followConversation(heddle.url, threadId);
    const { run_id } = await run(threadId, "wait lost-gate");
    await gateReached("lost-gate");
    await takeOver(heddle, run_id);
    openGate("lost-gate");
    const told = await follower.until(has("job:completed"));
    expect(told.filter(({ type }) => type === "job:started").map(({ attempt }) => attempt)).toEqual([1, 2]);
    // What the second attempt has written again was there.
    expect((await get(heddle, threadId)).values.keyInsights).toEqual(["before lost-gate", "after lost-gate"]);
    follower.close();
  });

  it("hears that its thread is gone by the end of its stream", async () => {
    const threadId = await newThread();
    const follower = await followConversation(heddle.url, threadId);
    const socket = await openSocketAt(`${other.url}/threads/${threadId}/notifications`);
    await heddle.client.threads.delete(threadId);
    await follower.ended;
    expect((await socket.closed).code).toBe(4404);
  });

  it("is refused a thread that is not there, and a place that is no number", async () => {
    const nowhere = `${heddle.url}/threads/${crypto.randomUUID()}/notifications`;
    expect((await fetch(nowhere)).status).toBe(404);
    expect(await (await openSocketAt(nowhere)).closed).toMatchObject({ code: 4404 });
    const threadId = await newThread();
    expect((await fetch(`${heddle.url}/threads/${threadId}/notifications?after=x`)).status).toBe(422);
  });
});

describe("a client that comes back", () => {
  it("is told what it has missed, by whichever server: Last-Event-ID, or ?after=", async () => {
    const threadId = await newThread();
    const follower = await followConversation(heddle.url, threadId);
    await patch(heddle, threadId, { objective: "a" });
    await follower.until(({ length }) => length === 2);
    follower.close();
    for (const keyInsights of [["b"], ["c"]]) await patch(heddle, threadId, { keyInsights });
    const missed = [
      { type: "connected", seq: 1 },
      { type: "state:updated", seq: 2, version: 2 },
      { type: "state:updated", seq: 3, version: 3 },
    ];
    const back = await followConversation(other.url, threadId, { lastEventId: 1 });
    expect(await back.until(({ length }) => length === 3)).toMatchObject(missed);
    back.close();
    const queried = await followConversation(other.url, threadId, { query: "?after=1" });
    expect(await queried.until(({ length }) => length === 3)).toMatchObject(missed);
    queried.close();
    const socket = await openSocketAt(`${other.url}/threads/${threadId}/notifications?after=1`);
    await socket.until(({ received }) => received.length === 3);
    expect(socket.received).toMatchObject(missed);
    socket.close();
  });

  it("is told that what it has missed is not known any more", async () => {
    const threadId = await newThread();
    const { db } = heddle.database;
    for (const objective of ["a", "b"]) await patch(heddle, threadId, { objective });
    await db.query("update heddle.notifications set created_at = created_at - interval '2 hours'");
    await patch(heddle, threadId, { objective: "c" });
    await expireConversations(db, { messageStateSeconds: 3_600, notificationSeconds: 3_600 });
    const back = await followConversation(heddle.url, threadId, { lastEventId: 0 });
    expect(await back.until(({ length }) => length === 3)).toMatchObject([
      { type: "connected", seq: 0 },
      { type: "expired", seq: 2 },
      { type: "state:updated", seq: 3, version: 3 },
    ]);
    back.close();
    const fromElsewhere = await followConversation(heddle.url, threadId, { lastEventId: 99 });
    expect(fromElsewhere.told).toMatchObject([{ type: "expired", seq: 3 }]);
    fromElsewhere.close();
  });

  it("sees every change once, whatever breaks between, while writers are at work on two servers", async () => {
    const threadId = await newThread();
    const WRITERS = 8;
    const CHANGES = 12;
    const places = [heddle, other];
    const writing = Promise.all(
      Array.from({ length: WRITERS }, async (_, writer) => {
        for (let n = 0; n < CHANGES; n++)
          await patch(places[(writer + n) % 2] ?? heddle, threadId, { keyInsights: [`${writer}.${n}`] });
      }),
    );
    const versions: number[] = [];
    let fetched: Awaited<ReturnType<typeof get>> | undefined;
    for (let seen = 0, connection = 0; versions.length < WRITERS * CHANGES; connection++) {
      const place = places[connection % 2] ?? heddle;
      const follower = await followConversation(place.url, threadId, { lastEventId: seen });
      // Each connection lives for some notifications only.
      const left = WRITERS * CHANGES - versions.length;
      const told = await follower.until(({ length }) => length > Math.min(left, 1 + (connection % 7)));
      follower.close();
      for (const { seq, version } of [...told].filter(({ type }) => type === "state:updated")) {
        versions.push(version ?? 0);
        seen = seq;
      }
      fetched = await get(place, threadId);
      expect(fetched.version).toBeGreaterThanOrEqual(versions.at(-1) ?? 0);
    }
    await writing;
    expect(versions).toEqual(Array.from({ length: WRITERS * CHANGES }, (_, i) => i + 1));
    expect(new Set(fetched?.values.keyInsights).size).toBe(WRITERS * CHANGES);
  });
});

it("tells nobody else: a socket on somebody's thread is closed like one on none", async () => {
  const keys = { ann: "ann-key-0123456789", bob: "bob-key-0123456789" };
  const secured = await startApp({ graphs, env: { API_KEYS: `ann:${keys.ann},bob:${keys.bob}` } });
  const ann = new Caller(secured.url, { "x-api-key": keys.ann });
  const { thread_id = "" } = await ann.json("POST", "/threads", {});
  const open = (id: string, headers: Record<string, string>) =>
    openSocketAt(`${secured.url}/threads/${id}/notifications`, headers);
  const bob = { "x-api-key": keys.bob };
  const answers = await Promise.all(
    [thread_id, crypto.randomUUID()].map(async (id) => {
      const socket = await open(id, bob);
      const { code, reason } = await socket.closed;
      return { code, reason: reason.replaceAll(id, "<id>"), received: socket.received };
    }),
  );
  expect(answers[0]).toEqual(answers[1]);
  expect(answers[0]).toMatchObject({ code: 4404, received: [] });
  await expect(open(thread_id, {})).rejects.toThrow("the socket was not opened");
  const own = await open(thread_id, ann.headers);
  await own.until(({ received }) => received.length === 1);
  own.close();
  await secured.close();
});

it("lets go of its followers when the server stops: they connect again", async () => {
  const threadId = await newThread();
  const stopping = await startApp({ graphs, beside: heddle, env: { WORKERS: "0" } });
  const socket = await openSocketAt(`${stopping.url}/threads/${threadId}/notifications`);
  const follower = await followConversation(stopping.url, threadId);
  await stopping.close();
  expect((await socket.closed).code).toBe(1012);
  await follower.ended;
});
