// Stopping the server while its agent runs a command: nothing of the command may be left on the machine.
import { randomInt } from "node:crypto";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { call, type ModelEndpoint, startModelEndpoint } from "../helpers/model-endpoint.ts";
import { startProcess } from "../helpers/process.ts";
import { processesWith, whyUnavailable } from "../helpers/sandbox-thread.ts";
import { human } from "../helpers/sdk.ts";

let database: TestDatabase;
let endpoint: ModelEndpoint;
let folder: string;

beforeAll(async () => {
  database = await createTestDatabase();
  endpoint = await startModelEndpoint();
  folder = mkdtempSync(path.join(tmpdir(), "heddle-stop-"));
});
afterAll(async () => {
  await endpoint.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

const noBubblewrap = await whyUnavailable("bubblewrap");

it.for(["bubblewrap", "local"])(
  "a command in the sandbox %s ends with the server",
  async (sandbox, { skip }) => {
    skip(sandbox === "bubblewrap" && noBubblewrap !== undefined, noBubblewrap);
    const seconds = String(randomInt(100_000_000, 999_999_999));
    endpoint.script(() => call(["bash", { command: `setsid sleep ${seconds} & sleep ${seconds}` }]));
    const heddle = startProcess({
      env: {
        DATA_DIR: folder,
        DATABASE_URL: database.url,
        SANDBOX: sandbox,
        OPENAI_BASE_URL: endpoint.url,
        LOG_LEVEL: "silent",
      },
    });
    const client = new Client({ apiUrl: await heddle.listening() });
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, "lead", { input: human("Wait.") });
    await vi.waitFor(async () => expect((await processesWith(seconds)).length).toBeGreaterThan(2), 10_000);

    heddle.child.kill("SIGTERM");
    expect(await heddle.ended()).toEqual({ code: 0, signal: null });
    expect(await processesWith(seconds)).toEqual([]);
    expect(existsSync(path.join(folder, "threads", thread_id, "sandbox-tmp"))).toBe(false);
    const [run] = await database.db.query("select status from heddle.runs where run_id = $1::uuid", [run_id]);
    expect(run).toEqual({ status: "pending" });
    await database.db.query("delete from heddle.threads where thread_id = $1::uuid", [thread_id]);
  },
);
