// The research agent over HTTP, on a real server without a model's key: a table of some thousand rows, recorded
// answers of OpenAlex and arXiv, and a server that is killed in the middle.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ResearchState } from "../../src/agents/research/research-state.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { startLiterature } from "../helpers/literature-server.ts";
import { lockedWorkbook } from "../helpers/office-files.ts";
import { type HeddleProcess, startProcess } from "../helpers/process.ts";
import { rainCsv } from "../helpers/rain-data.ts";
import { collect, human } from "../helpers/sdk.ts";

let database: TestDatabase;
let folder: string;
let literature: Awaited<ReturnType<typeof startLiterature>>;
const running: HeddleProcess[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(path.join(tmpdir(), "heddle-research-"));
  const research = { arxiv_pace_seconds: 0, literature_timeout_seconds: 600 };
  writeFileSync(path.join(folder, "config.yaml"), JSON.stringify({ research }));
  literature = await startLiterature();
});
beforeEach(() => literature.reset());
afterEach(async () => {
  for (const heddle of running.splice(0)) await heddle.stop("SIGKILL");
});
afterAll(async () => {
  await literature.close();
  await database.drop();
  rmSync(folder, { recursive: true, force: true });
});

async function start() {
  const server = startProcess({
    env: {
      DATA_DIR: folder,
      CONFIG_FILE: path.join(folder, "config.yaml"),
      DATABASE_URL: database.url,
      LOG_LEVEL: "warn",
      LEASE_SECONDS: "3600",
      SANDBOX: "virtual",
      OPENALEX_URL: literature.url,
      ARXIV_URL: literature.url,
    },
  });
  running.push(server);
  const url = await server.listening();
  return { server, url, client: new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } }) };
}

async function upload(url: string, threadId: string, files: Readonly<Record<string, string | Buffer>>) {
  const form = new FormData();
  for (const [name, content] of Object.entries(files))
    form.append("files", new Blob([new Uint8Array(Buffer.from(content))]), name);
  const response = await fetch(`${url}/threads/${threadId}/uploads`, { method: "POST", body: form });
  expect(response.ok, await response.text()).toBe(true);
}

async function conversationOf(url: string, threadId: string) {
  const response = await fetch(`${url}/threads/${threadId}/conversation`);
  return (await response.json()) as { values: Record<string, unknown> };
}

interface Envelope {
  readonly type: string;
  readonly call_id: string;
  readonly parent_id: string | null;
  readonly payload: { readonly tool_name?: string };
}

async function envelopesOf(url: string): Promise<Envelope[]> {
  const text = await (await fetch(url)).text();
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Envelope);
}

const AUTONOMOUS = { context: { research_mode: "fully-autonomous" } };
const QUESTION = "How does rain follow temperature?";
/** Searches as OpenAlex was asked them. */
const searches = () =>
  literature.requests.flatMap(({ url }) =>
    url.pathname === "/works" ? [url.searchParams.get("search")] : [],
  );

describe("the research agent", () => {
  test("works over HTTP on data and publications, in two iterations of parallel tasks, and shows its nested calls", async () => {
    const { client, url } = await start();
    const { thread_id } = await client.threads.create();
    await upload(url, thread_id, { "rain.csv": rainCsv(), "locked.xlsx": lockedWorkbook() });
    const events = await collect(
      client.runs.stream(thread_id, "research", {
        input: human(QUESTION),
        ...AUTONOMOUS,
        streamMode: ["values", "updates", "messages-tuple", "tools", "tasks", "custom"],
        streamSubgraphs: true,
      }),
    );
    const { values } = (await client.threads.getState(thread_id)) as unknown as { values: ResearchState };
    expect(values.tasks?.map(({ id, level, iteration, status }) => [id, level, iteration, status])).toEqual([
      ["lit-1", 1, 1, "completed"],
      ["ana-1", 1, 1, "completed"],
      ["lit-2", 2, 1, "completed"],
      ["ana-2", 2, 1, "completed"],
      ["lit-3", 3, 2, "completed"],
      ["ana-3", 3, 2, "completed"],
    ]);
    expect(values.tasks?.at(-1)?.output).toContain("rows\n6000");
    const reply = values.messages.at(-1) as unknown as { content: string };
    expect(reply.content).toContain("locked.xlsx: It is protected by a password.");
    expect(reply.content).toContain("[arxiv:2011.01234] Seasonal rain & temperature: a statistical view");
    const nested = events.map(({ event }) => event).filter((event) => event.startsWith("updates|"));
    expect(nested.some((event) => event.startsWith("updates|literature:"))).toBe(true);
    expect(nested.some((event) => event.startsWith("updates|analysis:"))).toBe(true);
    const [run] = await client.runs.list(thread_id);
    const envelopes = await envelopesOf(
      `${url}/threads/${thread_id}/runs/${run?.run_id}/events?format=jsonl`,
    );
    const named = (name: string) =>
      envelopes.filter(({ type, payload }) => type === "tool_start" && payload.tool_name === name);
    const root = envelopes.find(({ parent_id }) => parent_id === null);
    const calls = { literature: 3, analysis: 3, make_plan: 1, suggest_next: 2, write_reply: 1 };
    for (const [graph, times] of Object.entries(calls)) {
      expect(named(graph).map(({ parent_id }) => parent_id)).toEqual(Array(times).fill(root?.call_id));
    }
    const conversation = await conversationOf(url, thread_id);
    expect(conversation.values).toMatchObject({
      objective: QUESTION,
      researchMode: "fully-autonomous",
      currentLevel: 3,
      deepResearchRun: { isRunning: false, lastResult: "completed", jobId: run?.run_id },
      conversationTitle: QUESTION,
      uploadedDatasets: expect.arrayContaining([
        expect.objectContaining({ filename: "rain.csv", description: expect.stringContaining("6,000 rows") }),
        expect.objectContaining({ filename: "locked.xlsx", error: "It is protected by a password." }),
      ]),
    });
    expect(conversation.values.plan).toEqual(values.tasks);
    const table = await fetch(`${url}/threads/${thread_id}/artifacts/mnt/user-data/outputs/ana-2/result.csv`);
    expect(await table.text()).toMatch(/^group,mean,rows\nBergen,/);
  }, 60_000);

  test("shows what it takes and keeps, and its subagents", async () => {
    const { client } = await start();
    const [assistant] = await client.assistants.search({ graphId: "research" });
    const id = assistant?.assistant_id ?? "";
    const { context_schema, input_schema, state_schema } = await client.assistants.getSchemas(id);
    expect(context_schema?.properties?.research_mode).toMatchObject({
      enum: ["semi-autonomous", "fully-autonomous", "steering"],
    });
    expect(Object.keys(input_schema?.properties ?? {})).toEqual(["messages"]);
    expect(Object.keys(state_schema?.properties ?? {})).toEqual(
      expect.arrayContaining(["messages", "tasks", "removed_citations"]),
    );
    const subgraphs = await client.assistants.getSubgraphs(id);
    expect(Object.keys(subgraphs)).toEqual(
      expect.arrayContaining(["upload_files", "make_plan", "literature", "analysis", "write_reply"]),
    );
  });

  test("asks what is unclear, and begins when the client resumes", async () => {
    const { client, url } = await start();
    const { thread_id } = await client.threads.create();
    await client.runs.wait(thread_id, "research", { input: human(QUESTION) });
    const { tasks } = await client.threads.getState(thread_id);
    expect(tasks[0]?.interrupts[0]?.value).toMatchObject({ type: "clarification", objective: QUESTION });
    await client.runs.wait(thread_id, "research", { command: { resume: { answers: ["Bergen"] } } });
    expect((await conversationOf(url, thread_id)).values.clarificationContext).toMatchObject({
      questionsAndAnswers: [{ answer: "Bergen" }],
    });
    const [resumed] = await client.runs.list(thread_id);
    expect((await conversationOf(url, thread_id)).values.deepResearchRun).toMatchObject({
      jobId: resumed?.run_id,
      lastResult: "completed",
    });
  }, 60_000);
});

test("a server that is killed in the middle of a level leaves no task to be done twice", async () => {
  const first = await start();
  const { thread_id } = await first.client.threads.create();
  await upload(first.url, thread_id, { "rain.csv": rainCsv() });
  const planOf = async (url: string) =>
    ((await conversationOf(url, thread_id)).values.plan ?? []) as { id: string; status: string }[];
  const statuses = async (url: string) => (await planOf(url)).map(({ id, status }) => `${id} ${status}`);
  const stepsOf = async (url: string): Promise<Record<string, unknown>> => {
    const response = await fetch(`${url}/threads/${thread_id}/messages/${run.run_id}/state`);
    return ((await response.json()) as { values: { steps: Record<string, unknown> } }).values.steps;
  };
  // The literature task of the second level, which the analysis beside it does not wait for.
  literature.hold((url) => (url.searchParams.get("search") ?? "").startsWith("Methods"));
  const run = await first.client.runs.create(thread_id, "research", {
    input: human(QUESTION),
    ...AUTONOMOUS,
  });
  await expect
    .poll(() => statuses(first.url), { timeout: 30_000 })
    .toEqual(["lit-1 completed", "ana-1 completed", "lit-2 running", "ana-2 completed"]);
  await expect.poll(() => storedResults(thread_id)).toBe(3);
  const { "ana-2": before } = await stepsOf(first.url);
  expect(before).toMatchObject({ end: expect.any(Number) });
  await first.server.stop("SIGKILL");
  const asked = searches();
  literature.reset();

  const second = await start();
  await second.client.runs.join(thread_id, run.run_id);
  expect((await second.client.runs.get(thread_id, run.run_id)).status).toBe("success");
  expect(await statuses(second.url)).toEqual(
    ["lit-1", "ana-1", "lit-2", "ana-2", "lit-3", "ana-3"].map((id) => `${id} completed`),
  );
  expect(asked.map((search) => search?.split(" ")[0])).toEqual(["Publications", "Methods"]);
  expect(searches().map((search) => search?.split(" ")[0])).toEqual(["Methods", "Contradictions"]);
  expect((await stepsOf(second.url))["ana-2"]).toEqual(before);
}, 90_000);

/** Tasks whose results are stored: from here on nothing may do them again. */
async function storedResults(threadId: string): Promise<number> {
  const [row] = await database.db.query<{ stored: number }>(
    `select count(distinct task_id)::int as stored from heddle.checkpoint_writes
      where thread_id = $1 and checkpoint_ns = '' and channel = 'artifacts'`,
    [threadId],
  );
  return row?.stored ?? 0;
}
