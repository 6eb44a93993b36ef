import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { insertEvents, selectSeqOfCheckpoint } from "./event-log.sql.ts";
import { createEventLog, type EventWriter, LostRunError } from "./event-log.ts";
import { createHub } from "./hub.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

/** A writer for a run that is ours. */
async function openRun(open: (runId: string) => EventWriter): Promise<EventWriter> {
  const [run] = await database.db.query<{ run_id: string }>(
    `with thread as (insert into heddle.threads (thread_id, fencing_token) values (gen_random_uuid(), 1) returning thread_id)
     insert into heddle.runs (run_id, thread_id, assistant_id, status, fencing_token, kwargs, multitask_strategy)
     select gen_random_uuid(), thread_id, gen_random_uuid(), 'running', 1, '{}', 'reject' from thread returning run_id`,
  );
  return open(run?.run_id ?? "");
}

it("a run that writes without end does not hold up another run's end", async () => {
  let inserts = 0;
  const hub = createHub();
  const log = createEventLog({ db: database.db, hub: { ...hub, publish: () => void inserts++ } });
  const [chatty, quiet] = await Promise.all([1, 2].map(() => openRun((runId) => log.open(runId, "1", 0))));
  let others = true;
  const chatting = (async () => {
    while (others) {
      chatty?.append("custom", "{}");
      await chatty?.ready();
      await new Promise(setImmediate);
    }
    return await chatty?.close();
  })();
  for (let i = 0; i < 5; i++) {
    quiet?.append("values", "{}");
    await new Promise(setImmediate);
  }
  // What is in flight is waited for; what is left comes with the end.
  const before = inserts;
  const rest = await quiet?.close();
  expect(inserts - before).toBeLessThanOrEqual(2);
  const written = await database.db.query("select 1 from heddle.run_events where event = 'values'");
  expect(written.length + (rest?.length ?? 0)).toBe(5);
  others = false;
  await chatting;
});

it("an attempt that has lost its run shows readers nothing, even if the next one writes in the same moment", async () => {
  const published: string[] = [];
  const hub = createHub();
  const log = createEventLog({
    db: database.db,
    hub: { ...hub, publish: (_, events) => void published.push(...events.map(({ data }) => data)) },
  });
  let lost: EventWriter | undefined;
  const next = await openRun((runId) => {
    lost = log.open(runId, "0", 0);
    return log.open(runId, "1", 0);
  });
  lost?.append("values", "lost");
  next.append("values", "next");
  await expect.poll(() => published).toContain("next");
  await expect(lost?.ready()).rejects.toThrow(LostRunError);
  await next.ready();
  expect(published).toEqual(["next"]);
});

it("events that are sent again, because the answer was lost, are stored once", async () => {
  let runId = "";
  await openRun((id) => {
    runId = id;
    return createEventLog({ db: database.db, hub: createHub() }).open(id, "1", 0);
  });
  const events = [0, 1].map((seq) => ({ runId, token: "1", seq, event: "values", data: `${seq}` }));
  for (const _ of [1, 2]) expect([...(await insertEvents(database.db, events))]).toEqual([`${runId} 1`]);
  const stored = await database.db.query(
    "select seq, data from heddle.run_events where run_id = $1::uuid order by seq",
    [runId],
  );
  expect(stored).toEqual([
    { seq: 0, data: "0" },
    { seq: 1, data: "1" },
  ]);
});

it("finds a checkpoint among events with texts that PostgreSQL cannot store", async () => {
  let runId = "";
  await openRun((id) => {
    runId = id;
    return createEventLog({ db: database.db, hub: createHub() }).open(id, "1", 0);
  });
  const values = {
    text: "NUL \0, halves \ud800 \udfff, a pair \ud83d\ude00, no escapes \\u0000 \\ud800",
    "\0": 1,
  };
  const sent = [
    ["debug", { payload: { values, checkpoint: { checkpoint_id: "first" } } }],
    ["checkpoints", { values, id: "second" }],
    ["values", values],
  ] as const;
  await insertEvents(
    database.db,
    sent.map(([event, data], seq) => ({ runId, token: "1", seq, event, data: JSON.stringify(data) })),
  );
  expect(await selectSeqOfCheckpoint(database.db, runId, "first")).toBe(0);
  expect(await selectSeqOfCheckpoint(database.db, runId, "second")).toBe(2);
  expect(await selectSeqOfCheckpoint(database.db, runId, "third")).toBe(-1);
});

it("a run that is only awaited logs with its end, or soon; one that is read, at once", async () => {
  const hub = createHub();
  const inserted: string[] = [];
  const log = createEventLog({
    db: {
      query(text, values) {
        if (text.includes("insert into heddle.run_events")) inserted.push(String(values?.[0]));
        return database.db.query(text, values);
      },
    },
    hub,
  });
  let runId = "";
  const writer = await openRun((id) => {
    runId = id;
    return log.open(id, "1", 0);
  });
  const waiter = hub.subscribe(runId, { waits: true });
  writer.append("metadata", "{}");
  await new Promise(setImmediate);
  expect(await writer.close()).toHaveLength(1);
  expect(inserted).toEqual([]);

  writer.append("values", "1");
  await expect.poll(() => waiter.take().map(({ data }) => data)).toEqual(["1"]);
  const reader = hub.subscribe(runId);
  writer.append("values", "2");
  await new Promise(setImmediate);
  expect(inserted).toHaveLength(2);
  await expect.poll(() => reader.take().map(({ data }) => data)).toEqual(["2"]);
});

it("a run that is only awaited does not fill the memory", async () => {
  const hub = createHub();
  const log = createEventLog({ db: database.db, hub });
  let runId = "";
  const writer = await openRun((id) => {
    runId = id;
    return log.open(id, "1", 0);
  });
  hub.subscribe(runId, { waits: true });
  for (let i = 0; i < 3; i++) {
    writer.append("custom", JSON.stringify("x".repeat(1024 * 1024)));
    await writer.ready();
  }
  expect(await writer.close()).toEqual([]);
});
