// The team from langgraph.json over HTTP, on servers that are killed: in the middle of a round, and while a person reads a
// plan. Restored, it goes on exactly there (document 003, §7).
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { createCaller } from "../checkpoints/caller.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { type HeddleProcess, startProcess } from "../helpers/process.ts";
import { human, lastText } from "../helpers/sdk.ts";
import { type SlowModel, startSlowModel } from "../helpers/slow-model.ts";

const PLAN = JSON.stringify({ facts: [], plan: ["all in turn"] });
const NAMES = ["researcher", "analyst", "writer"];
let database: TestDatabase;
let folder: string;
let model: SlowModel;
/** Who is to be kept waiting. */
let held: string | undefined;
const running: HeddleProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(path.join(tmpdir(), "heddle-team-"));
  model = await startSlowModel((text) => {
    if (text.includes('"plan"')) return PLAN;
    if (text.includes('"next_speaker"')) return lead(text);
    if (text.includes("Write the answer")) return "The end.";
    const name = /You are (\w+), a member/.exec(text)?.[1] ?? "";
    return name === held ? new Promise<string>(() => undefined) : `${name} has spoken.`;
  });
});
afterEach(async () => {
  for (const heddle of running.splice(0)) await heddle.stop("SIGKILL");
});
afterAll(async () => {
  await model.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

/** The first who has not spoken yet. */
function lead(text: string): string {
  const next = NAMES.find((name) => !text.includes(`${name} has spoken.`));
  return JSON.stringify({
    is_request_satisfied: next === undefined,
    is_progress_being_made: true,
    is_in_loop: false,
    next_speaker: next ?? "writer",
    instruction_or_question: `Speak, ${next}.`,
  });
}

async function start(env: Record<string, string> = {}) {
  const server = startProcess({
    env: {
      DATA_DIR: folder,
      DATABASE_URL: database.url,
      LOG_LEVEL: "warn",
      SANDBOX: "virtual",
      OPENAI_BASE_URL: model.url,
      OPENAI_API_KEY: "test-key",
      ...env,
    },
  });
  running.push(server);
  const url = await server.listening();
  return {
    server,
    call: createCaller(url),
    client: new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } }),
  };
}

const countOf = (part: string) => model.requests.filter((text) => text.includes(part)).length;

describe("a team of three", () => {
  it("killed with -9 in the middle of a round and restored goes on exactly there", async () => {
    held = "analyst";
    const first = await start();
    const { thread_id } = await first.client.threads.create();
    const configurable = { checkpoint_frequency: { every_steps: 1, keep: 3 } };
    await first.client.runs.create(thread_id, "team", { input: human("Do it"), config: { configurable } });
    await expect.poll(() => countOf("You are analyst"), { timeout: 20_000 }).toBe(1);
    const made = await first.call.create(thread_id, { metadata: { session: "s-1" } });
    expect(made.messages).toMatchObject({ analyst: [{ is_done: false }] });
    expect(made.executor_states).toMatchObject({
      orchestrator: { task: "Do it", round_count: 2, progress_ledger: { next_speaker: "analyst" } },
      researcher: { chat_history: [{ role: "user" }, { role: "assistant", text: "researcher has spoken." }] },
    });
    await first.server.stop("SIGKILL");

    // Its successor takes the run up by itself; here it is to be the checkpoint.
    const second = await start();
    const [run] = await second.client.runs.list(thread_id);
    await second.client.runs.cancel(thread_id, run?.run_id ?? "", true);
    held = undefined;
    for (const target of [{}, { new_thread: true }]) {
      const restored = await second.call.restore(thread_id, made.checkpoint_id, target);
      expect(restored.next).toEqual(["analyst"]);
      const before = model.requests.length;
      const values = await second.client.runs.wait(restored.thread_id, "team", { input: null });
      // The analyst, who was interrupted, then the writer; nobody is asked twice.
      const asked = model.requests
        .slice(before)
        .map((text) => /You are (\w+), a member/.exec(text)?.[1] ?? "lead");
      expect(asked).toEqual(["analyst", "lead", "writer", "lead", "lead"]);
      expect((values as { messages: { content: string }[] }).messages.map(({ content }) => content)).toEqual([
        "Do it",
        ...NAMES.map((name) => `${name} has spoken.`),
        "The end.",
      ]);
    }
    expect(countOf("You are researcher")).toBe(1);
    // By itself it has kept the milestones that it was told to.
    expect((await second.call.list(thread_id)).map(({ trigger }) => trigger)).toContain("steps");
  }, 60_000);

  it("waits with its plan for a person, through a restart and a change of mind", async () => {
    held = undefined;
    const first = await start();
    const { thread_id } = await first.client.threads.create();
    const configurable = { plan_review: true, checkpoint_frequency: { on_interrupt: true } };
    await first.client.runs.wait(thread_id, "team", {
      input: human("Review this"),
      config: { configurable },
    });
    // All that the client keeps.
    const [kept] = await first.call.list(thread_id);
    await first.server.stop("SIGKILL");

    const second = await start();
    const { checkpoint_id = "" } = kept ?? {};
    const shown = await second.call.get(thread_id, checkpoint_id);
    expect(shown).toMatchObject({
      trigger: "interrupt",
      messages: { plan_review: [{ requests: [{ value: { type: "plan_review", plan: ["all in turn"] } }] }] },
    });
    const restored = await second.call.restore(thread_id, checkpoint_id);
    expect(restored.next).toEqual(["plan_review"]);
    const values = await second.client.runs.wait(thread_id, "team", { command: { resume: "yes" } });
    expect(lastText(values)).toBe("The end.");
    await second.call.restore(thread_id, checkpoint_id);
    const revised = await second.client.runs.wait(thread_id, "team", {
      command: { resume: { decision: "revise", comments: "shorter" } },
    });
    expect(revised).toMatchObject({ __interrupt__: [{ value: { type: "plan_review" } }] });
  }, 60_000);

  it("with other participants is another graph: the checkpoint is refused, with their names", async () => {
    held = undefined;
    const { client, call } = await start();
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "team", { input: human("First") });
    const { checkpoint_id } = await call.create(thread_id);
    const participants = [
      { name: "researcher", description: "x" },
      { name: "critic", description: "y" },
    ];
    await client.runs.wait(thread_id, "team", {
      input: human("Second"),
      config: { configurable: { participants, max_rounds: 1 } },
    });
    const refused = await call.send("POST", `/threads/${thread_id}/checkpoints/${checkpoint_id}/restore`);
    expect(refused).toMatchObject({
      status: 409,
      body: {
        error: { code: "topology_mismatch", details: { missing: ["analyst", "writer"], added: ["critic"] } },
      },
    });
    // On a thread of its own it has the team that it is of.
    const restored = await call.restore(thread_id, checkpoint_id, { new_thread: true });
    const { values } = await client.threads.getState(restored.thread_id);
    expect(values).toHaveProperty("writer_state.chat_history");
    // What is wrong in a team is named.
    await expect(
      client.runs.wait(thread_id, "team", {
        input: human("x"),
        config: { configurable: { participants: [] } },
      }),
    ).rejects.toThrow("The team's participants");
  }, 60_000);
});
