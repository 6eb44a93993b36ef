// Stopping the server while its agent runs a command: nothing of the command may be left on the machine.
import { spawn } from "node:child_process";
import { randomInt } from "node:crypto";
import { once } from "node:events";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { freePort } from "../../src/db/free-port.ts";
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

describe("a server that is told to stop", () => {
  const config = path.resolve(import.meta.dirname, "../fixtures/graphs/langgraph.json");

  async function whileItRuns(text: string) {
    const heddle = startProcess({
      env: { DATA_DIR: folder, DATABASE_URL: database.url, GRACE_SECONDS: "60", LOG_LEVEL: "info" },
      args: ["--config", config],
    });
    const client = new Client({ apiUrl: await heddle.listening() });
    const { thread_id } = await client.threads.create();
    const { run_id } = await client.runs.create(thread_id, "script", { input: human(text) });
    await vi.waitFor(async () => expect((await client.runs.get(thread_id, run_id)).status).toBe("running"));
    heddle.child.kill("SIGINT");
    await vi.waitFor(() => expect(heddle.output()).toContain("Heddle stops"));
    const status = async () => {
      const [run] = await database.db.query("select status from heddle.runs where run_id = $1::uuid", [
        run_id,
      ]);
      return run;
    };
    return { heddle, status };
  }

  it("does not take the echo of a Ctrl-C, which npm sends, for a second one", async () => {
    const { heddle, status } = await whileItRuns("linger 2000");
    heddle.child.kill("SIGINT");
    expect(await heddle.ended()).toEqual({ code: 0, signal: null });
    expect(await status()).toEqual({ status: "success" });
  });

  it("once more stops at once", async () => {
    const { heddle } = await whileItRuns("linger 50000");
    const again = setInterval(() => heddle.child.kill("SIGINT"), 100);
    expect(await heddle.ended()).toEqual({ code: 1, signal: null });
    clearInterval(again);
  });

  it("ends with npm, which has started it", async () => {
    const port = String(await freePort());
    const npm = spawn("npm", ["start", "--", "--config", config], {
      env: { ...process.env, DATA_DIR: folder, DATABASE_URL: database.url, PORT: port },
      stdio: "ignore",
    });
    const isUp = () =>
      fetch(`http://127.0.0.1:${port}/ok`).then(
        () => true,
        () => false,
      );
    await vi.waitFor(async () => expect(await isUp()).toBe(true), { timeout: 60_000, interval: 100 });
    npm.kill("SIGTERM");
    await once(npm, "close");
    await vi.waitFor(async () => expect(await isUp()).toBe(false), { timeout: 10_000, interval: 100 });
  });
});
