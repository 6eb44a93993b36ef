// `npm run bench:envelope`: what an event costs that is rendered as an envelope, how many of them one process renders, what a
// run costs that is read as envelopes, and what reading adds to the log. Prints tables; bench/README.md keeps the last.
import { mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import type { Database } from "../src/db/database.ts";
import { createJoiner } from "../src/envelope/joiner.ts";
import { createLogRenderer } from "../src/envelope/render-log.ts";
import type { Profile } from "../src/envelope/schema.ts";
import { readLogged } from "../src/events/stored-events.ts";
import { call, isAgentTurn, say, startModelEndpoint } from "../test/helpers/model-endpoint.ts";

const ROOT = path.resolve(import.meta.dirname, "..");
const PORT = 3978;
const URL_BASE = `http://127.0.0.1:${PORT}`;
const ROUNDS = Number(process.env.ROUNDS ?? 5);
const RUNS = Number(process.env.RUNS ?? 40);
const TURNS = 10;
const CONCURRENCY = 4;
const ANSWER = "one two three four five six seven eight nine ten ".repeat(20).trim();
const MODES = ["values", "updates", "messages-tuple", "tools", "tasks", "custom"] as "values"[];

const print = (text = "") => process.stdout.write(`${text}\n`);
const median = (values: readonly number[]) =>
  [...values].sort((a, b) => a - b)[Math.floor(values.length / 2)] ?? Number.NaN;

const endpoint = await startModelEndpoint();
endpoint.script((request) => {
  if (!isAgentTurn(request)) return say("Title");
  const answered = request.messages.at(-1)?.role === "tool";
  return answered ? say(ANSWER) : call(["ls", { description: "Look", path: "/mnt/user-data/workspace" }]);
});
const dataDir = mkdtempSync(path.join(tmpdir(), "heddle-bench-"));
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
const client = new Client({ apiUrl: URL_BASE, callerOptions: { maxRetries: 0, maxConcurrency: 64 } });
const db: Database = createDatabase({ url: app.databaseUrl, max: 2, onError: () => undefined });

const start = (threadId: string) =>
  client.runs.create(threadId, "lead", {
    input: { messages: [{ role: "user", content: "Hello" }] },
    streamMode: MODES,
    streamSubgraphs: true,
  });

/** The events of the last run of a thread of some turns, as a reader on another server has them. */
async function recordEvents() {
  const { thread_id } = await client.threads.create();
  let runId = "";
  for (let turn = 0; turn < TURNS; turn++) {
    runId = (await start(thread_id)).run_id;
    await client.runs.join(thread_id, runId);
  }
  const rows = await db.query<{ seq: number; event: string; data: string; is_pointer: boolean }>(
    "select seq, event, data, is_pointer from heddle.run_events where run_id = $1::uuid order by seq",
    [runId],
  );
  return { runId, events: rows.map(readLogged) };
}

type Recorded = Awaited<ReturnType<typeof recordEvents>>;

/** Renders, joins and writes a run as its readers get it; returns how many envelopes that are, and their characters. */
function render({ runId, events }: Recorded, profile: Profile): { envelopes: number; chars: number } {
  const renderer = createLogRenderer({
    runId,
    graphName: "lead",
    base: 0,
    startedAt: 0,
    input: null,
    isResumed: false,
    modes: MODES,
    withSubgraphs: true,
    originOf: () => "live",
  });
  const joiner = createJoiner();
  let [envelopes, chars] = [0, 0];
  const send = (sent: readonly { envelope: unknown }[]) => {
    for (const { envelope } of sent) {
      envelopes++;
      chars += JSON.stringify(envelope).length;
    }
  };
  for (const event of events) {
    const placed = renderer.render(event);
    if (profile === "debug") send(placed);
    else for (const one of placed) send(joiner.add(one));
  }
  const ended = renderer.end({ status: "success" });
  if (profile === "debug") send(ended);
  else send([...ended.flatMap((one) => joiner.add(one)), ...joiner.flush()]);
  return { envelopes, chars };
}

function cost(recorded: Recorded): void {
  print(
    `### An event of the log as an envelope (a turn of the lead agent, ${recorded.events.length} events)\n`,
  );
  print("| profile | envelopes | µs an event | events/s of one process |\n|---|---|---|---|");
  for (const profile of ["user", "debug"] as const) {
    for (let warm = 0; warm < 50; warm++) render(recorded, profile);
    const times = Array.from({ length: ROUNDS }, () => {
      const began = performance.now();
      for (let pass = 0; pass < 100; pass++) render(recorded, profile);
      return ((performance.now() - began) * 1000) / (100 * recorded.events.length);
    });
    const each = median(times);
    const { envelopes } = render(recorded, profile);
    print(
      `| ${profile} | ${envelopes} | ${each.toFixed(1)} | ${Math.round(1e6 / each).toLocaleString("en")} |`,
    );
  }
  print();
}

/** Runs one after the other, several at a time; each is read in the given way. */
async function run(read: (threadId: string, runId: string) => Promise<unknown>) {
  const threads: string[] = [];
  let left = RUNS;
  const began = performance.now();
  const before = process.cpuUsage();
  await Promise.all(
    Array.from({ length: CONCURRENCY }, async () => {
      while (left-- > 0) {
        const { thread_id } = await client.threads.create();
        threads.push(thread_id);
        const { run_id } = await start(thread_id);
        await read(thread_id, run_id);
      }
    }),
  );
  const perSecond = (RUNS * 1000) / (performance.now() - began);
  const { user, system } = process.cpuUsage(before);
  const [row] = await db.query<{ events: number; bytes: number }>(
    `select count(*)::double precision as events, sum(octet_length(e.data))::double precision as bytes
     from heddle.run_events e join heddle.runs r using (run_id) where r.thread_id = any ($1::uuid[])`,
    [threads],
  );
  return {
    perSecond,
    cpuMs: (user + system) / 1000 / RUNS,
    events: (row?.events ?? 0) / RUNS,
    bytes: (row?.bytes ?? 0) / RUNS,
  };
}

async function reading(): Promise<void> {
  const text = async (url: string) => (await fetch(url)).text();
  const join = (threadId: string, runId: string) => client.runs.join(threadId, runId);
  const ways: [string, (threadId: string, runId: string) => Promise<unknown>][] = [
    ["nobody (join)", join],
    [
      "runs/stream",
      async (threadId, runId) => {
        const headers = { "last-event-id": "-1" };
        const answer = await fetch(`${URL_BASE}/threads/${threadId}/runs/${runId}/stream`, { headers });
        await answer.text();
      },
    ],
    ["events, user", (threadId, runId) => text(`${URL_BASE}/threads/${threadId}/runs/${runId}/events`)],
    [
      "events, debug",
      (threadId, runId) => text(`${URL_BASE}/threads/${threadId}/runs/${runId}/events?profile=debug`),
    ],
  ];
  const found = ways.map(() => [] as Awaited<ReturnType<typeof run>>[]);
  await run(join);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [i, [, read]] of ways.entries()) found[i]?.push(await run(read));
  }
  print(
    `### A run of the lead agent and its reader (${CONCURRENCY} at a time, client and model in the same process)\n`,
  );
  print(
    "| read by | runs/s | CPU per run | events per run | bytes in the log per run |\n|---|---|---|---|---|",
  );
  for (const [i, [name]] of ways.entries()) {
    const of = (field: "perSecond" | "cpuMs" | "events" | "bytes") =>
      median(found[i]?.map((measured) => measured[field]) ?? []);
    print(
      `| ${name} | ${of("perSecond").toFixed(1)} | ${of("cpuMs").toFixed(1)} ms | ${of("events")} | ${of("bytes").toFixed(0)} |`,
    );
  }
  print();
}

print(
  `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpus()[0]?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}, ${process.env.DATABASE_URL ? "own PostgreSQL" : "embedded PostgreSQL"}, ${ROUNDS} rounds of ${RUNS} runs, load ${loadavg()[0]?.toFixed(1)} at the start\n`,
);
cost(await recordEvents());
await reading();
await db.close();
await app.close();
await endpoint.close();
rmSync(dataDir, { recursive: true, force: true });
