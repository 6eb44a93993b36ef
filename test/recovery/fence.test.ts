// The fence of the checkpointer when writes and takeovers meet: what is written with a token is written before the next
// token is given out, or not at all.
import { randomUUID } from "node:crypto";
import { Annotation, StateGraph } from "@langchain/langgraph";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { Checkpointer, FENCE_KEY, FencedError } from "../../src/db/checkpointer.ts";
import type { Queryable } from "../../src/db/database.ts";
import { claimRun } from "../../src/runs/runs.sql.ts";
import { takeThread } from "../../src/threads/threads.sql.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;
let checkpointer: Checkpointer;
beforeAll(async () => {
  database = await createTestDatabase();
  checkpointer = new Checkpointer(database.db);
});
// A run that a test has left would be claimed by the next one.
afterEach(() => database.db.query("delete from heddle.runs"));
afterAll(() => database.drop());

/** A thread whose run another worker has, with token 1, and whose lease is over. */
async function newThread(): Promise<string> {
  const threadId = randomUUID();
  await database.db.query("insert into heddle.threads (thread_id, fencing_token) values ($1::uuid, 1)", [
    threadId,
  ]);
  await database.db.query(
    `insert into heddle.runs
       (run_id, thread_id, assistant_id, status, fencing_token, lease_until, kwargs, multitask_strategy)
     values ($2::uuid, $1::uuid, $2::uuid, 'running', 1, clock_timestamp() - interval '1 hour', '{}', 'reject')`,
    [threadId, randomUUID()],
  );
  return threadId;
}

const configOf = (threadId: string, token: unknown, checkpointId?: string) => ({
  configurable: {
    thread_id: threadId,
    checkpoint_ns: "",
    [FENCE_KEY]: token,
    ...(checkpointId === undefined ? {} : { checkpoint_id: checkpointId }),
  },
});

/** The two writes of a checkpointer, each with something of its own in the `number`. */
const WRITES = {
  put: (threadId: string, token: unknown, number: number) =>
    checkpointer.put(
      configOf(threadId, token),
      {
        v: 4,
        id: `${token}-${number}`,
        ts: "",
        channel_values: { a: number },
        channel_versions: { a: number },
        versions_seen: {},
      },
      { source: "loop", step: number, parents: {} },
      { a: number },
    ),
  putWrites: (threadId: string, token: unknown, number: number) =>
    checkpointer.putWrites(configOf(threadId, token, `${token}-${number}`), [["a", number]], "task"),
};

/** What holds such a write up after it has looked at its token: another transaction has the same row. */
const OBSTACLES = {
  put: `insert into heddle.checkpoint_blobs (thread_id, channel, version, type) values ($1::text, 'a', '7', 'json')`,
  putWrites: `insert into heddle.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob)
    values ($1::text, '1-7', 'task', 0, 'a', 'json', '')`,
};

async function countRows(db: Queryable, threadId: string): Promise<string> {
  const [row] = await db.query<{ rows: string }>(
    `select (select count(*) from heddle.checkpoints where thread_id = $1::text)
       + (select count(*) from heddle.checkpoint_writes where thread_id = $1::text) as rows`,
    [threadId],
  );
  return row?.rows ?? "";
}

/** How many connections to this database wait for a lock. */
const waiting = async () => {
  const rows = await database.db.query(
    "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rows.length;
};

describe.each(["put", "putWrites"] as const)("%s", (kind) => {
  const write = WRITES[kind];

  it("that has looked at its token is finished before the thread is given to another", async () => {
    const { db } = database;
    const threadId = await newThread();
    const obstacle = Promise.withResolvers<void>();
    const inTheWay = Promise.withResolvers<void>();
    const blocker = db.transaction(async (tx) => {
      await tx.query(OBSTACLES[kind], [threadId]);
      inTheWay.resolve();
      await obstacle.promise;
    });
    await inTheWay.promise;
    const written = write(threadId, 1, 7);
    await expect.poll(waiting).toBe(1);

    // A worker that looks for runs goes on to other threads; whoever needs this one waits.
    expect(await claimRun(db, { owner: "other", leaseSeconds: 60, maxCrashes: 3 })).toBeUndefined();
    let taken = false;
    const seen = db.transaction(async (tx) => {
      await takeThread(tx, threadId);
      taken = true;
      return countRows(tx, threadId);
    });
    await expect.poll(waiting).toBe(2);
    expect(taken).toBe(false);

    obstacle.resolve();
    await Promise.all([blocker, written]);
    expect(await seen).toBe("1");
    expect(await countRows(db, threadId)).toBe("1");
  });

  it("that comes while the thread is given to another waits, and is refused", async () => {
    const { db } = database;
    const threadId = await newThread();
    const done = Promise.withResolvers<void>();
    const takenOver = Promise.withResolvers<void>();
    const takeover = db.transaction(async (tx) => {
      const run = await claimRun(tx, { owner: "other", leaseSeconds: 60, maxCrashes: 3 });
      takenOver.resolve();
      await done.promise;
      return run;
    });
    await takenOver.promise;
    const refused = expect(write(threadId, 1, 7)).rejects.toThrow(FencedError);
    await expect.poll(waiting).toBe(1);
    done.resolve();
    expect(await takeover).toMatchObject({ thread_id: threadId, fencing_token: "2" });
    await refused;
    expect(await countRows(db, threadId)).toBe("0");
    await write(threadId, 2, 7);
    expect(await countRows(db, threadId)).toBe("1");
  });

  it("of many at once is there when the next owner looks, or never", async () => {
    const { db } = database;
    const threadId = await newThread();
    for (let token = 1; token <= 20; token++) {
      let number = 0;
      const writer = async () => {
        for (;;) {
          number++;
          await write(threadId, token, number);
        }
      };
      const writers = Array.from({ length: 6 }, () => writer().catch((error: unknown) => error));
      // Let some of them through first.
      await expect.poll(() => number, { interval: 1 }).toBeGreaterThan(token);
      const seen = await db.transaction(async (tx) => {
        await takeThread(tx, threadId);
        return countRows(tx, threadId);
      });
      for (const error of await Promise.all(writers)) expect(error).toBeInstanceOf(FencedError);
      expect(await countRows(db, threadId)).toBe(seen);
    }
  });

  it("to a thread that is gone is refused", async () => {
    const threadId = await newThread();
    await database.db.query("delete from heddle.threads where thread_id = $1::uuid", [threadId]);
    await expect(write(threadId, 1, 1)).rejects.toThrow(FencedError);
    expect(await countRows(database.db, threadId)).toBe("0");
  });
});

it("A subgraph writes with the token of its run", async () => {
  const { db } = database;
  const threadId = await newThread();
  const inside = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  const State = Annotation.Root({ text: Annotation<string> });
  const inner = new StateGraph(State)
    .addNode("hold", async () => {
      inside.resolve();
      await goOn.promise;
      return { text: "stale" };
    })
    .addEdge("__start__", "hold")
    .compile({ checkpointer: true });
  const graph = new StateGraph(State)
    .addNode("inner", inner)
    .addEdge("__start__", "inner")
    .compile({ checkpointer });
  const run = graph.invoke({ text: "a" }, { ...configOf(threadId, 1), durability: "sync" });
  const ended = expect(run).rejects.toThrow(FencedError);
  await inside.promise;
  const seen = await db.transaction(async (tx) => {
    await takeThread(tx, threadId);
    return countRows(tx, threadId);
  });
  goOn.resolve();
  await ended;
  expect(await countRows(db, threadId)).toBe(seen);
});
