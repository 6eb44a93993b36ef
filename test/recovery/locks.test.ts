// Statements that lock several rows at once never wait for each other in a circle.
import { afterAll, beforeAll, expect, it } from "vitest";
import { insertEvents } from "../../src/events/event-log.sql.ts";
import { renewLeases } from "../../src/runs/runs.sql.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

it("leases are renewed while events of the same runs are written, whatever the order of the runs", async () => {
  const { db } = database;
  const runs = await db.query<{ run_id: string }>(
    `with thread as (
       insert into heddle.threads (thread_id, fencing_token)
       select gen_random_uuid(), 1 from generate_series(1, 60) returning thread_id
     )
     insert into heddle.runs
       (run_id, thread_id, assistant_id, status, fencing_token, lease_until, kwargs, multitask_strategy)
     select gen_random_uuid(), thread_id, gen_random_uuid(), 'running', 1, now() + interval '1 hour', '{}', 'reject'
     from thread returning run_id`,
  );
  const ids = runs.map((run) => run.run_id);
  const orders = [ids, ids.toReversed()];
  let seq = 0;
  const times = (work: () => Promise<unknown>) =>
    (async () => {
      for (let i = 0; i < 20; i++) await work();
    })();
  await Promise.all(
    orders.flatMap((order) => [
      times(() =>
        renewLeases(
          db,
          order.map((runId) => ({ runId, token: "1" })),
          60,
        ),
      ),
      times(() => {
        const next = seq++;
        return insertEvents(
          db,
          order.map((runId) => ({ runId, token: "1", seq: next, event: "values", data: "{}" })),
        );
      }),
    ]),
  );
  const [written] = await db.query<{ events: string }>("select count(*) as events from heddle.run_events");
  expect(written?.events).toBe(String(40 * ids.length));
});
