// Threads that are reduced to their newest state, expire, or are deleted, with what they hold.
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { deleteThreadRow } from "../../src/threads/removal.sql.ts";
import { removeLeftovers, removeLeftoversOf } from "../../src/threads/remove-leftovers.ts";
import { insertThread, takeThread } from "../../src/threads/threads.sql.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";

const folder = path.resolve(import.meta.dirname, "../fixtures/threads");

interface Values {
  log: string[];
  topic: string;
}

let heddle: TestApp;
let client: NextClient<Values>;
beforeAll(async () => {
  heddle = await startApp({ graphs: path.join(folder, "langgraph.json") });
  client = new NextClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
});
afterAll(() => heddle.close());

const query = <Row extends Record<string, unknown>>(text: string, ...values: unknown[]) =>
  heddle.database.db.query<Row>(text, values);

async function run(graphId: string, ...topics: string[]): Promise<string> {
  const { thread_id } = await client.threads.create();
  for (const topic of topics) await client.runs.wait(thread_id, graphId, { input: { topic, log: [] } });
  return thread_id;
}

const TABLES = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"];

async function rowCounts(threadId: string): Promise<number[]> {
  const counts = TABLES.map((table) => query(`select 1 from heddle.${table} where thread_id = $1`, threadId));
  return (await Promise.all(counts)).map((rows) => rows.length);
}

/** Values that no checkpoint names. */
const strayBlobs = (threadId: string) =>
  query(
    `select b.channel from heddle.checkpoint_blobs b where b.thread_id = $1 and not exists (
       select 1 from heddle.checkpoints c
       where c.thread_id = b.thread_id and c.checkpoint_ns = b.checkpoint_ns
         and c.checkpoint -> 'channel_versions' ->> b.channel = b.version
     )`,
    threadId,
  );

describe("a thread that keeps its latest state", () => {
  it("has only that, and goes on from there", async () => {
    const id = await run("notes", "a", "b", "c");
    const before = await client.threads.getState(id);
    expect(await client.threads.prune([id], { strategy: "keep_latest" })).toEqual({ pruned_count: 1 });
    expect(await client.threads.getState(id)).toEqual({ ...before, parent_checkpoint: null });
    expect(await client.threads.getHistory(id)).toHaveLength(1);
    expect(await strayBlobs(id)).toEqual([]);
    expect((await rowCounts(id)).at(2)).toBe(0);
    await client.runs.wait(id, "notes", { input: { topic: "d", log: [] } });
    expect((await client.threads.getState(id)).values.log.slice(-4)).toEqual([
      "noted c",
      "closed",
      "noted d",
      "closed",
    ]);
  });

  it("can be resumed in its subgraphs", async () => {
    const id = await run("nested", "");
    const before = await client.threads.getState(id, undefined, { subgraphs: true });
    await client.threads.prune([id], { strategy: "keep_latest" });
    const after = await client.threads.getState(id, undefined, { subgraphs: true });
    expect(after.tasks[0]?.state?.values).toEqual(before.tasks[0]?.state?.values);
    const namespaces = await query("select checkpoint_ns from heddle.checkpoints where thread_id = $1", id);
    expect(namespaces).toHaveLength(3);
    await client.runs.wait(id, "nested", { command: { resume: "yes" } });
    expect((await client.threads.getState(id)).values.log).toEqual([
      "before",
      "before",
      "thought",
      "kept inside: yes",
      "after",
    ]);
  });

  it.each([1, 3, 4, 7, 12])("keeps what delta channels are made from, after %i runs", async (runs) => {
    const topics = Array.from({ length: runs }, (_, i) => `t${i}`);
    const id = await run("delta", ...topics);
    const { values } = await client.threads.getState(id);
    expect(values.log).toHaveLength(runs);
    const [before = 0] = await rowCounts(id);
    await client.threads.prune([id], { strategy: "keep_latest" });
    expect((await client.threads.getState(id)).values).toEqual(values);
    const [after = 0] = await rowCounts(id);
    if (runs > 4) expect(after).toBeLessThan(before);
    await client.runs.wait(id, "delta", { input: { topic: "more" } });
    expect((await client.threads.getState(id)).values.log).toEqual([...values.log, `${runs} more`]);
  });

  it("keeps the branch that is the newest, and no other", async () => {
    const id = await run("notes", "a", "b");
    const history = await client.threads.getHistory(id, { limit: 100 });
    const early = history.findLast((state) => state.next.includes("close"));
    await client.runs.wait(id, "notes", { input: null, checkpointId: early?.checkpoint.checkpoint_id ?? "" });
    const { values } = await client.threads.getState(id);
    await client.threads.prune([id], { strategy: "keep_latest" });
    expect((await client.threads.getState(id)).values).toEqual(values);
    await expect(client.threads.getState(id, history[0]?.checkpoint.checkpoint_id ?? "")).rejects.toThrow(
      "HTTP 404",
    );
  });

  it("is left alone while it runs", async () => {
    const gate = randomUUID();
    const id = await run("notes", "a");
    const { run_id } = await client.runs.create(id, "notes", { input: { topic: `wait ${gate}`, log: [] } });
    await gateReached(gate);
    const before = await client.threads.getHistory(id);
    expect(await client.threads.prune([id], { strategy: "keep_latest" })).toEqual({ pruned_count: 0 });
    expect(await client.threads.getHistory(id)).toEqual(before);
    openGate(gate);
    await client.runs.join(id, run_id);
    expect(await client.runs.get(id, run_id)).toMatchObject({ status: "success" });
  });

  it("says of a state that was streamed that it is lost, and still has the run's result", async () => {
    const text = "x".repeat(2_000);
    const id = await run("notes", text);
    const [first] = await client.runs.list(id);
    await run("notes", "other");
    await client.threads.prune([id], { strategy: "keep_latest" });
    const events = [];
    for await (const event of client.runs.joinStream(id, first?.run_id ?? "", { lastEventId: "-1" })) {
      events.push(event);
    }
    expect(JSON.stringify(events)).toContain("StateLost");
    expect(await client.runs.join(id, first?.run_id ?? "")).toMatchObject({ topic: text });
  });
});

describe("pruned threads", () => {
  it("are deleted and counted, those that there are", async () => {
    const ids = [await run("notes", "a"), await run("notes", "b")];
    expect(await client.threads.prune([...ids, randomUUID(), ids[0] ?? ""])).toEqual({ pruned_count: 2 });
    for (const id of ids) {
      await expect(client.threads.get(id)).rejects.toThrow("HTTP 404");
      expect(await rowCounts(id)).toEqual([0, 0, 0]);
    }
  });
});

describe("a deletion", () => {
  it("that is broken off is finished later; until then nobody sees or gets what is left", async () => {
    const id = await run("notes", "a", "b");
    const [first] = await client.runs.list(id);
    const { db } = heddle.database;
    // As a process leaves it that ends after the first step.
    await query(
      `with gone as (delete from heddle.threads where thread_id = $1::uuid returning thread_id)
       insert into heddle.deleted_threads select thread_id from gone`,
      id,
    );
    await query("insert into heddle.deleted_runs values ($1::uuid)", first?.run_id);
    await query("insert into heddle.run_events values ($1::uuid, 0, 'values', '{}')", first?.run_id);
    expect((await rowCounts(id))[0]).toBeGreaterThan(0);
    await expect(client.threads.get(id)).rejects.toThrow("HTTP 404");
    await expect(client.threads.getState(id)).rejects.toThrow("HTTP 404");
    await expect(insertThread(db, id, {})).rejects.toMatchObject({
      code: "thread_being_deleted",
      status: 409,
      message: expect.stringMatching(/still being deleted/),
    });
    const anew = client.threads.create({ threadId: id });
    const files: string[] = [];
    const removeFiles = async (threadId: string) => void files.push(threadId);
    await Promise.all([removeLeftovers(db, removeFiles), removeLeftovers(db, removeFiles)]);
    expect(files).toContain(id);
    expect(await rowCounts(id)).toEqual([0, 0, 0]);
    expect(await query("select 1 from heddle.run_events where run_id = $1::uuid", first?.run_id)).toEqual([]);
    const left =
      "select thread_id from heddle.deleted_threads union all select run_id from heddle.deleted_runs";
    expect(await query(left)).toEqual([]);
    expect((await anew).values).toBeUndefined();
  });

  it("that is under way is waited for by whoever makes a thread, or a run, with the same id", async () => {
    const { db } = heddle.database;
    const made = [
      (threadId: string) => client.threads.create({ threadId }),
      (threadId: string) =>
        client.threads.create({
          threadId,
          graphId: "notes",
          supersteps: [{ updates: [{ values: { topic: "a", log: [] }, asNode: "note" }] }],
        }),
      (threadId: string) =>
        client.runs.wait(threadId, "notes", { input: { topic: "a", log: [] }, ifNotExists: "create" }),
    ];
    for (const make of made) {
      const { thread_id: id } = await client.threads.create();
      const making = await db.transaction(async (tx) => {
        await takeThread(tx, id);
        await deleteThreadRow(tx, id, false);
        const waiting = make(id);
        await expect
          .poll(() =>
            query(
              "select 1 from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
            ),
          )
          .not.toEqual([]);
        return { waiting };
      });
      await removeLeftoversOf(db, id);
      await making.waiting;
      expect((await client.threads.get(id)).thread_id).toBe(id);
    }
  });

  it("that takes too long is told in words to whoever makes a thread with the same id", async () => {
    const { db } = heddle.database;
    const { thread_id: id } = await client.threads.create();
    await db.transaction(async (tx) => {
      await takeThread(tx, id);
      await deleteThreadRow(tx, id, false);
      const impatient = db.transaction(async (other) => {
        await other.query("set local lock_timeout = 50");
        return insertThread(other, id, {});
      });
      await expect(impatient).rejects.toMatchObject({ code: "thread_being_deleted" });
    });
  });

  it("of a thread with many checkpoints and events leaves nothing", async () => {
    const id = await run("notes", "a");
    const [first] = await client.runs.list(id);
    await query(
      `insert into heddle.checkpoints (thread_id, checkpoint_ns, checkpoint_id, checkpoint)
       select $1, 'many', i::text, '{}' from generate_series(1, 12000) i`,
      id,
    );
    await query(
      `insert into heddle.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type)
       select $1, 'many', 'x', i::text, 'empty' from generate_series(1, 5000) i`,
      id,
    );
    await query(
      `insert into heddle.run_events (run_id, seq, event, data)
       select $1::uuid, i, 'values', '{}' from generate_series(1000, 25000) i`,
      first?.run_id,
    );
    await client.threads.delete(id);
    expect(await rowCounts(id)).toEqual([0, 0, 0]);
    await removeLeftovers(heddle.database.db, async () => undefined);
    expect(await query("select 1 from heddle.run_events where run_id = $1::uuid", first?.run_id)).toEqual([]);
    expect(await query("select 1 from heddle.deleted_runs")).toEqual([]);
  });
});

describe("a run that is rolled back", () => {
  it("leaves no values behind, and those that others have", async () => {
    const gate = randomUUID();
    const id = await run("notes", "a");
    const before = await rowCounts(id);
    const { run_id } = await client.runs.create(id, "notes", { input: { topic: `wait ${gate}`, log: [] } });
    await gateReached(gate);
    await client.runs.cancel(id, run_id, true, "rollback");
    expect(await rowCounts(id)).toEqual(before);
    expect(await strayBlobs(id)).toEqual([]);
    expect((await client.threads.getState(id)).values.log).toEqual(["noted a", "closed"]);
  });
});

describe("a time to live", () => {
  const expiry = async (id: string) => {
    const { ttl } = (await client.threads.get(id, { include: ["ttl"] })) as unknown as {
      ttl?: { strategy: string; ttl_minutes: number; expires_at: string | null };
    };
    return ttl;
  };
  const passes = (id: string) =>
    query(
      "update heddle.threads set delete_after = now() - interval '1 second' where thread_id = $1::uuid",
      id,
    );
  const minutesLeft = async (id: string) =>
    (Date.parse((await expiry(id))?.expires_at ?? "") - Date.now()) / 60_000;

  it("is given when the thread is made or later, and starts anew with each activity", async () => {
    const { thread_id: id } = await client.threads.create({ ttl: 30 });
    expect(await expiry(id)).toMatchObject({ strategy: "delete", ttl_minutes: 30 });
    expect(await minutesLeft(id)).toBeCloseTo(30, 0);
    for (const act of [
      () => client.threads.update(id, { metadata: { seen: true } }),
      () => client.runs.wait(id, "notes", { input: { topic: "a", log: [] } }),
      () => client.threads.updateState(id, { values: { topic: "b", log: [] }, asNode: "note" }),
    ]) {
      await passes(id);
      await act();
      expect(await minutesLeft(id)).toBeCloseTo(30, 0);
    }
    await client.threads.update(id, { ttl: { ttl: 60, strategy: "keep_latest" as "delete" } });
    expect(await expiry(id)).toMatchObject({ strategy: "keep_latest", ttl_minutes: 60 });
    expect(await minutesLeft(id)).toBeCloseTo(60, 0);
    const { thread_id: without } = await client.threads.create();
    expect(await expiry(without)).toBeUndefined();
  });

  let other: TestApp | undefined;
  afterEach(async () => {
    await other?.close();
  });

  it("comes from langgraph.json, for threads that runs make too, but not for those of stateless runs", async () => {
    const project = mkdtempSync(path.join(tmpdir(), "heddle-ttl-"));
    const file = path.join(project, "langgraph.json");
    const ttl = { strategy: "keep_latest", default_ttl: 90 };
    const notes = path.join(folder, "notes.ts:graph");
    writeFileSync(file, JSON.stringify({ graphs: { notes }, checkpointer: { ttl } }));
    other = await startApp({ graphs: file });
    rmSync(project, { recursive: true });
    const { client: sdk, database } = other;
    const input = { topic: "a", log: [] };
    const { thread_id: made } = await sdk.threads.create();
    const { thread_id: own } = await sdk.threads.create({ ttl: 5 });
    const byRun = randomUUID();
    await sdk.runs.wait(byRun, "notes", { input, ifNotExists: "create" });
    await sdk.runs.wait(null, "notes", { input });
    await sdk.runs.wait(null, "notes", { input, onCompletion: "keep" } as object);
    const rows = await database.db.query<{ thread_id: string; ttl_minutes: number; ttl_strategy: string }>(
      "select thread_id, ttl_minutes, ttl_strategy from heddle.threads order by created_at",
    );
    expect(rows.map((row) => [row.ttl_minutes, row.ttl_strategy])).toEqual([
      [90, "keep_latest"],
      [5, "delete"],
      [90, "keep_latest"],
      [null, "delete"],
      [90, "keep_latest"],
    ]);
    expect(rows.slice(0, 3).map((row) => row.thread_id)).toEqual([made, own, byRun]);
  });
});
