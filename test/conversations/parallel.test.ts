// Writers that know nothing of each other: nothing of what any of them has written is lost, on two servers, and nothing is
// written by a run that has lost its thread.
import path from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createConversations } from "../../src/conversations/conversations.ts";
import { FencedError } from "../../src/db/checkpointer.ts";
import { createHub } from "../../src/events/hub.ts";
import { conversationOf } from "../../src/kit/conversation.ts";
import { claimRun } from "../../src/runs/runs.sql.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { Caller } from "../helpers/belongings.ts";
import { human } from "../helpers/sdk.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/conversations/langgraph.json");

let heddle: TestApp;
let other: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs, env: { WORKERS: "0" } });
  other = await startApp({ graphs, beside: heddle, env: { WORKERS: "0" } });
});
afterAll(async () => {
  await other.close();
  await heddle.close();
});

const newThread = async () => (await heddle.client.threads.create()).thread_id;
const conversationsOf = ({ database: { db } }: TestApp) =>
  createConversations({
    db,
    patient: db,
    hub: createHub(),
    messageStateSeconds: 60,
    notificationSeconds: 60,
  });

it("keeps what 50 writers on two servers change 10 times each: lists that grow, and keys that are replaced", async () => {
  const threadId = await newThread();
  const callers = [heddle, other].map(({ url }) => new Caller(url, {}));
  await Promise.all(
    Array.from({ length: 50 }, async (_, writer) => {
      for (let n = 0; n < 10; n++) {
        const values = {
          keyInsights: [`${writer}.${n}`],
          discoveries: [{ claim: `${writer}.${n}` }],
          currentLevel: n,
        };
        const response = await callers[(writer + n) % 2]?.send("PATCH", `/threads/${threadId}/conversation`, {
          values,
        });
        expect(response?.status).toBe(200);
      }
    }),
  );
  const { version, values } = await conversationsOf(heddle).get(threadId);
  expect(version).toBe(500);
  expect(new Set(values.keyInsights).size).toBe(500);
  expect(new Set(values.discoveries?.map(({ claim }) => claim)).size).toBe(500);
  // Of one writer, what he wrote later is later.
  for (let writer = 0; writer < 50; writer++) {
    const own = values.keyInsights?.filter((insight) => insight.startsWith(`${writer}.`));
    expect(own).toEqual(Array.from({ length: 10 }, (_, n) => `${writer}.${n}`));
  }
});

async function startRun(threadId: string) {
  const { run_id } = await heddle.client.runs.create(threadId, "deeds", { input: human("x") });
  const run = await claimRun(heddle.database.db, { owner: "test", leaseSeconds: 60, maxCrashes: 3 });
  if (run?.run_id !== run_id) throw new Error("another run was claimed");
  const open = (app: TestApp) =>
    conversationOf({ configurable: conversationsOf(app).offer(run) }, () => {
      throw new Error("a server gives it");
    });
  return { run, open };
}

it("keeps all tasks of a plan that tasks of two processes change at the same time", async () => {
  const threadId = await newThread();
  const { open } = await startRun(threadId);
  const conversations = [open(heddle), open(other)];
  const ids = Array.from({ length: 16 }, (_, i) => String(i));
  await conversations[0]?.patch({ plan: ids.map((id) => ({ id, objective: id, type: "LITERATURE" })) });
  await Promise.all(
    ids.map((id, i) =>
      conversations[i % 2]?.change(({ plan = [] }) => ({
        plan: plan.map((task) => (task.id === id ? { ...task, output: `of ${id}` } : task)),
      })),
    ),
  );
  const { plan = [] } = (await conversationsOf(heddle).get(threadId)).values;
  expect(plan.map(({ output }) => output)).toEqual(ids.map((id) => `of ${id}`));
});

it("refuses all that a run writes that has lost its thread, and keeps the rest as it was", async () => {
  const threadId = await newThread();
  const { run, open } = await startRun(threadId);
  const conversation = open(heddle);
  await conversation.patch({ keyInsights: ["in time"] });
  const before = await conversationsOf(heddle).get(threadId);
  await heddle.database.db.query(
    "update heddle.threads set fencing_token = fencing_token + 1 where thread_id = $1::uuid",
    [threadId],
  );
  for (const write of [
    () => conversation.patch({ keyInsights: ["late"] }),
    () => conversation.change(() => ({ keyInsights: ["late"] })),
    () => conversation.patchMessage({ thought: "late" }),
    () => conversation.step("late", async () => undefined),
    () => conversation.fileReady("late"),
  ]) {
    await expect(write()).rejects.toThrow(FencedError);
  }
  expect(await conversationsOf(heddle).get(threadId)).toEqual(before);
  expect((await conversationsOf(heddle).getMessage(threadId, run.run_id)).values).not.toHaveProperty(
    "thought",
  );
});

it("stores what a model may write, also a text that PostgreSQL cannot hold", async () => {
  const threadId = await newThread();
  const { open } = await startRun(threadId);
  await open(heddle).patch({ keyInsights: ["NUL \0 and \ud800"], methodology: "'; drop table --" });
  const { values } = await conversationsOf(heddle).get(threadId);
  expect(values).toMatchObject({ keyInsights: ["NUL \ufffd and \ufffd"], methodology: "'; drop table --" });
});
