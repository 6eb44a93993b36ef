// `npm run bench`: cold start, what a run costs beside its model call, statements and checkpoints of a run. Prints a
// table; bench/README.md keeps the last one. Everything runs on this machine, so look at the ratios.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { ChatOpenAI } from "@langchain/openai";
import {
  call,
  isAgentTurn,
  type ModelEndpoint,
  say,
  startModelEndpoint,
} from "../test/helpers/model-endpoint.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const RUNS = Number(process.env.RUNS ?? 60);
const ANSWER = "one two three four five six seven eight nine ten ".repeat(4).trim();
const PORT = 3977;
const URL_BASE = `http://127.0.0.1:${PORT}`;

const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;
const percentile = (values: readonly number[], p: number) =>
  [...values].sort((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * p))] ?? Number.NaN;
const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;
const print = (text = "") => process.stdout.write(`${text}\n`);

interface Server {
  /** Milliseconds from the spawn to the first 200 of /ok. */
  readonly startedIn: number;
  stop(): Promise<void>;
}

async function start(dataDir: string, endpoint: ModelEndpoint): Promise<Server> {
  const began = performance.now();
  const child = spawn(
    process.execPath,
    [
      "--disable-warning=ExperimentalWarning",
      path.join(ROOT, "src/main.ts"),
      "--config",
      path.join(ROOT, "bench/graphs/langgraph.json"),
    ],
    {
      cwd: ROOT,
      env: {
        PATH: process.env.PATH,
        // As `npm start` sets it.
        NODE_COMPILE_CACHE: path.join(ROOT, "node_modules/.cache/node-compile"),
        PORT: String(PORT),
        DATA_DIR: dataDir,
        DATABASE_URL: process.env.DATABASE_URL ?? "",
        OPENAI_BASE_URL: endpoint.url,
        OPENAI_API_KEY: "bench",
        BENCH_MODEL_URL: endpoint.url,
        MODEL: "bench",
        SANDBOX: "virtual",
        LOG_LEVEL: "error",
        WORKERS: "64",
      },
      stdio: ["ignore", "ignore", "inherit"],
    },
  );
  for (;;) {
    if (child.exitCode !== null) throw new Error("the server did not start");
    const answer = await fetch(`${URL_BASE}/ok`).catch(() => undefined);
    await answer?.text();
    if (answer?.ok) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const startedIn = performance.now() - began;
  return {
    startedIn,
    async stop() {
      child.kill("SIGTERM");
      if (child.exitCode === null) await once(child, "exit");
    },
  };
}

interface Timing {
  readonly total: number;
  readonly firstToken: number;
}

/** The model alone, streamed, as an application without a server would call it. */
async function direct(model: ChatOpenAI): Promise<Timing> {
  const began = performance.now();
  let firstToken = Number.NaN;
  for await (const chunk of await model.stream("Hello")) {
    if (Number.isNaN(firstToken) && chunk.text !== "") firstToken = performance.now() - began;
  }
  return { total: performance.now() - began, firstToken };
}

async function streamed(client: Client, graph: string): Promise<Timing> {
  const { thread_id } = await client.threads.create();
  const began = performance.now();
  let firstToken = Number.NaN;
  const input = { messages: [{ role: "user", content: "Hello" }] };
  for await (const { event, data } of client.runs.stream(thread_id, graph, {
    input,
    streamMode: "messages-tuple",
  })) {
    if (event === "error") throw new Error(JSON.stringify(data));
    const text = Array.isArray(data) ? (data[0] as { content?: unknown }).content : "";
    if (Number.isNaN(firstToken) && text) firstToken = performance.now() - began;
  }
  return { total: performance.now() - began, firstToken };
}

async function many(
  work: () => Promise<Timing>,
  count: number,
  concurrency: number,
): Promise<{ timings: Timing[]; perSecond: number }> {
  const timings: Timing[] = [];
  let left = count;
  const began = performance.now();
  await Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (left-- > 0) timings.push(await work());
    }),
  );
  return { timings, perSecond: (count * 1000) / (performance.now() - began) };
}

async function coldStart(endpoint: ModelEndpoint, dataDir: string): Promise<void> {
  const first = await start(dataDir, endpoint);
  await first.stop();
  const times: number[] = [];
  for (let i = 0; i < ROUNDS; i++) {
    const server = await start(dataDir, endpoint);
    times.push(server.startedIn);
    await server.stop();
  }
  print("### Cold start to /ok\n");
  print("| | median | min | max |\n|---|---|---|---|");
  print(
    `| existing data directory | ${ms(median(times))} | ${ms(Math.min(...times))} | ${ms(Math.max(...times))} |`,
  );
  print(`| first start (initdb, schema) | ${ms(first.startedIn)} | | |\n`);
}

async function overhead(endpoint: ModelEndpoint): Promise<void> {
  endpoint.script(() => say(ANSWER));
  const model = new ChatOpenAI({ model: "bench", apiKey: "bench", configuration: { baseURL: endpoint.url } });
  const client = new Client({ apiUrl: URL_BASE, callerOptions: { maxRetries: 0, maxConcurrency: 64 } });
  const ways: [string, () => Promise<Timing>][] = [
    ["the model alone", () => direct(model)],
    ["one-node graph", () => streamed(client, "one-node")],
    ["lead agent", () => streamed(client, "lead")],
  ];
  for (const [, work] of ways) await many(work, 10, 2);
  print("### A run beside its model call (streamed, one answer of 40 words, no tools)\n");
  print(
    "| concurrency | | runs/s | p50 | p99 | first token p50 | p50 over the model alone |\n|---|---|---|---|---|---|---|",
  );
  for (const concurrency of [1, 8, 32]) {
    const found = ways.map(() => ({ rates: [] as number[], timings: [] as Timing[] }));
    for (let round = 0; round < ROUNDS; round++) {
      for (const [i, [, work]] of ways.entries()) {
        const { timings, perSecond } = await many(work, RUNS, concurrency);
        found[i]?.rates.push(perSecond);
        found[i]?.timings.push(...timings);
      }
    }
    const base = median(found[0]?.timings.map((timing) => timing.total) ?? []);
    for (const [i, [name]] of ways.entries()) {
      const { rates, timings } = found[i] ?? { rates: [], timings: [] };
      const totals = timings.map((timing) => timing.total);
      const first = median(timings.map((timing) => timing.firstToken));
      print(
        `| ${concurrency} | ${name} | ${median(rates).toFixed(0)} | ${ms(median(totals))} | ${ms(percentile(totals, 0.99))} | ${ms(first)} | ${i === 0 ? "" : `+${ms(median(totals) - base)}`} |`,
      );
    }
  }
  print();
}

/** Statements by the server's own count, in this process, so that nothing else is counted. */
async function statements(endpoint: ModelEndpoint, dataDir: string): Promise<void> {
  Object.assign(process.env, {
    DATA_DIR: dataDir,
    OPENAI_BASE_URL: endpoint.url,
    OPENAI_API_KEY: "bench",
    BENCH_MODEL_URL: endpoint.url,
    MODEL: "bench",
    SANDBOX: "virtual",
    LOG_LEVEL: "error",
    PORT: String(PORT),
  });
  const [{ buildApp }, { loadConfig }, { createDatabase }] = await Promise.all([
    import("../src/app.ts"),
    import("../src/config.ts"),
    import("../src/db/database.ts"),
  ]);
  const app = await buildApp(loadConfig({ cwd: ROOT }), path.join(ROOT, "bench/graphs/langgraph.json"));
  await app.server.listen({ port: PORT, host: "127.0.0.1" });
  const client = new Client({ apiUrl: URL_BASE });
  const db = createDatabase({ url: app.databaseUrl, max: 1, onError: () => undefined });

  const cases: [string, string, () => void][] = [
    ["one-node graph", "one-node", () => endpoint.script(() => say(ANSWER))],
    [
      "lead agent, no tool",
      "lead",
      () => endpoint.script((request) => say(isAgentTurn(request) ? ANSWER : "Title")),
    ],
    [
      "lead agent, one tool round",
      "lead",
      () =>
        endpoint.script((request) => {
          if (!isAgentTurn(request)) return say("Title");
          const answered = request.messages.at(-1)?.role === "tool";
          return answered
            ? say(ANSWER)
            : call(["ls", { description: "Look", path: "/mnt/user-data/workspace" }]);
        }),
    ],
  ];
  print("### Statements and checkpoints of a run (streamed)\n");
  print("| | statements | checkpoints | supersteps before and after the agent |\n|---|---|---|---|");
  for (const [name, graph, prepare] of cases) {
    prepare();
    const { thread_id } = await client.threads.create();
    await settle(app.statements);
    const before = app.statements();
    const input = { messages: [{ role: "user", content: "Hello" }] };
    const nodes: string[] = [];
    for await (const { event, data } of client.runs.stream(thread_id, graph, {
      input,
      streamMode: "updates",
    })) {
      if (event === "updates") nodes.push(...Object.keys(data));
    }
    const count = (await settle(app.statements)) - before;
    const [row] = await db.query<{ count: string }>(
      "select count(*) from heddle.checkpoints where thread_id = $1",
      [thread_id],
    );
    const around = nodes.filter((node) => /before_agent|after_agent/.test(node));
    print(`| ${name} | ${count} | ${row?.count} | ${around.length > 0 ? around.join(", ") : "–"} |`);
  }
  print();
  await db.close();
  await app.close();
}

/** Waits until no statement has come for a while, and returns the count: the queue is asked now and then. */
async function settle(read: () => number): Promise<number> {
  for (;;) {
    const before = read();
    await new Promise((resolve) => setTimeout(resolve, 120));
    if (read() === before) return before;
  }
}

const endpoint = await startModelEndpoint();
const dataDir = mkdtempSync(path.join(tmpdir(), "heddle-bench-"));
print(
  `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}, ${process.env.DATABASE_URL ? "own PostgreSQL" : "embedded PostgreSQL"}, ${ROUNDS} rounds of ${RUNS} runs\n`,
);
await coldStart(endpoint, dataDir);
const server = await start(dataDir, endpoint);
await overhead(endpoint);
await server.stop();
await statements(endpoint, dataDir);
await endpoint.close();
rmSync(dataDir, { recursive: true, force: true });
