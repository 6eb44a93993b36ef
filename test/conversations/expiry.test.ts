// States of messages and notifications go after their time; what a conversation has learned stays. Time is moved in the data.
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { expireConversations } from "../../src/conversations/expire.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { human } from "../helpers/sdk.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/conversations/langgraph.json");

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
});
afterAll(() => heddle.close());

const WEEK = 7 * 86_400;
const expire = (messageStateSeconds: number, notificationSeconds: number) =>
  expireConversations(heddle.database.db, { messageStateSeconds, notificationSeconds });
const stateIds = async () =>
  (await heddle.database.db.query<{ id: string }>("select id from heddle.states")).map(({ id }) => id);
const makeOlder = (hours: number) =>
  heddle.database.db.query(
    `with states as (update heddle.states set created_at = created_at - make_interval(hours => $1::integer)),
     runs as (update heddle.runs set updated_at = updated_at - make_interval(hours => $1::integer) where finished_at is not null)
     update heddle.notifications set created_at = created_at - make_interval(hours => $1::integer)`,
    [hours],
  );

const readState = (threadId: string, runId: string) =>
  fetch(`${heddle.url}/threads/${threadId}/messages/${runId}/state`);

it("deletes the state of a message some time after its run's end, not before, and nothing else", async () => {
  const { thread_id } = await heddle.client.threads.create();
  for (const text of ["insight lasting", "nothing"])
    await heddle.client.runs.wait(thread_id, "deeds", { input: human(text) });
  const run = await heddle.client.runs.create(thread_id, "deeds", { input: human("wait expiry-gate") });
  await gateReached("expiry-gate");
  await expire(3_600, WEEK);
  expect(await stateIds()).toHaveLength(2);
  await makeOlder(2);
  await expire(3_600, WEEK);
  expect(await stateIds()).toEqual([run.run_id]);
  openGate("expiry-gate");
  await heddle.client.runs.join(thread_id, run.run_id);
  expect((await readState(thread_id, run.run_id)).status).toBe(200);
  const { values } = (await (await fetch(`${heddle.url}/threads/${thread_id}/conversation`)).json()) as {
    values: { keyInsights: string[] };
  };
  expect(values.keyInsights[0]).toBe("lasting");
});

it("shows the state of a message that nobody has written as long as any other, and stores none", async () => {
  const { thread_id } = await heddle.client.threads.create();
  const run = await heddle.client.runs.create(thread_id, "deeds", { input: human("nothing") });
  await heddle.client.runs.join(thread_id, run.run_id);
  const state = await readState(thread_id, run.run_id);
  expect(await state.json()).toMatchObject({
    state_id: run.run_id,
    version: 1,
    values: { messageId: run.run_id, conversationId: thread_id, source: "api", isDeepResearch: false },
  });
  expect(await stateIds()).not.toContain(run.run_id);
  await makeOlder(2);
  expect((await readState(thread_id, run.run_id)).status).toBe(404);
});

it("deletes notifications, and gives none of their numbers again", async () => {
  const { thread_id } = await heddle.client.threads.create();
  const { db } = heddle.database;
  const seqs = async () =>
    (
      await db.query<{ seq: string }>(
        "select seq from heddle.notifications where conversation_id = $1::uuid order by seq",
        [thread_id],
      )
    ).map(({ seq }) => Number(seq));
  await heddle.client.runs.wait(thread_id, "deeds", { input: human("insight first") });
  // Before its first insight the thread was no conversation: that its run had begun was told nobody.
  expect(await seqs()).toEqual([1, 2]);
  await makeOlder(2);
  await expire(WEEK, 3_600);
  expect(await seqs()).toEqual([]);
  await heddle.client.runs.wait(thread_id, "deeds", { input: human("insight second") });
  expect(await seqs()).toEqual([3, 4, 5]);
});
