import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
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
