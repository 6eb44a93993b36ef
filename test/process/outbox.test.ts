// Servers as processes that are killed while they owe something: a webhook, or the run of a cron.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { type HeddleProcess, startProcess } from "../helpers/process.ts";
import { type Receiver, startReceiver } from "../helpers/receiver.ts";
import { human } from "../helpers/sdk.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/graphs/langgraph.json");
let database: TestDatabase;
let folder: string;
let receiver: Receiver;
const running: HeddleProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(path.join(tmpdir(), "heddle-outbox-"));
});
beforeEach(async () => {
  receiver = await startReceiver();
});
afterEach(async () => {
  for (const heddle of running.splice(0)) await heddle.stop("SIGKILL");
  await receiver.close();
});
afterAll(async () => {
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function start(env: Record<string, string> = {}) {
  const server = startProcess({
    env: {
      DATA_DIR: folder,
      DATABASE_URL: database.url,
      LOG_LEVEL: "warn",
      WEBHOOK_ALLOW: "127.0.0.1",
      ...env,
    },
    args: ["--config", GRAPHS],
  });
  running.push(server);
  const apiUrl = await server.listening();
  return { server, client: new Client({ apiUrl, callerOptions: { maxRetries: 0 } }) };
}

describe("a server that is killed", () => {
  it("while it delivers a webhook leaves it to its successor, with the same id", async () => {
    receiver.answer(() => undefined);
    const { server, client } = await start();
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, "echo", {
      input: human("hi"),
      webhook: `${receiver.url}/`,
    });
    await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
    await server.stop("SIGKILL");
    const owed = await database.db.query("select run_id, attempts from heddle.webhooks");
    expect(owed).toEqual([{ run_id, attempts: 1 }]);

    // As if the time for which the dead one had it were over.
    await database.db.query("update heddle.webhooks set due_at = clock_timestamp()");
    await start();
    await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(2);
    expect(receiver.received.map(({ headers }) => headers["webhook-id"])).toEqual([run_id, run_id]);
    await expect.poll(() => database.db.query("select 1 from heddle.webhooks")).toEqual([]);
  });

  it("has its missed crons made up for, by one run each, and their webhooks told", async () => {
    const { server, client } = await start();
    const { cron_id } = await client.crons.create("echo", {
      schedule: "0 0 1 1 *",
      input: human("tick"),
      webhook: `${receiver.url}/`,
    });
    await server.stop("SIGKILL");
    await database.db.query("update heddle.crons set next_run_date = clock_timestamp() - interval '1 day'");
    const successors = await Promise.all([start(), start()]);
    await expect.poll(() => receiver.received.length, { timeout: 10_000 }).toBe(1);
    // Both look when a cron changes, and find nothing more.
    for (const successor of successors) await successor.client.crons.update(cron_id, {});
    const runs = await database.db.query(
      "select 1 from heddle.runs where metadata ->> 'cron_id' = $1::text",
      [cron_id],
    );
    expect(runs).toHaveLength(1);
    expect(receiver.received[0]?.body).toMatchObject({ status: "success", metadata: { cron_id } });
  });
});
