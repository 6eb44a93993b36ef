// `npm run bench:threads`: what it costs to list threads with their states, to read one and its history, over HTTP.
// With BASE, a folder with another version of Heddle, both serve the same threads and take turns. Prints the table of
// bench/README.md.
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import path from "node:path";
import { openDatabase } from "./open-database.ts";
import { type BenchServer, startHeddle } from "./peer/bench-server.ts";
import { type Cleanup, createCleanup } from "./peer/cleanup.ts";
import { percentile } from "./peer/measure.ts";
import { usageOf } from "./peer/process-tree.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const { BASE, PROFILE } = process.env;
const THREADS = 100;
const TURNS = 5;
/** Of JSON, in each thread. */
const THREAD_BYTES = 100_000;
const WORDS =
  "the agent reads a table of rainfall and says which month had most of it before the user asks".split(" ");

const print = (text = "") => process.stdout.write(`${text}\n`);
const median = (values: readonly number[]) => percentile(values, 0.5);

async function send(url: string, method: string, body?: object): Promise<string> {
  const init = body && { headers: { "content-type": "application/json" }, body: JSON.stringify(body) };
  const answer = await fetch(url, { method, ...init });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${text}`);
  return text;
}

const prose = (length: number) => {
  let text = "";
  while (text.length < length) text += `${WORDS[Math.floor(Math.random() * WORDS.length)]} `;
  return text;
};

/** A question, a call of a tool, its result, an answer. */
function exchange(length: number): object[] {
  const callId = `call_${randomUUID()}`;
  const usage_metadata = { input_tokens: 3_000, output_tokens: 200, total_tokens: 3_200 };
  const response_metadata = { model_name: "gpt-x", finish_reason: "stop", tokenUsage: usage_metadata };
  const ai = { type: "ai", additional_kwargs: {}, response_metadata, usage_metadata, invalid_tool_calls: [] };
  const call = {
    name: "read_file",
    args: { path: "/mnt/user-data/uploads/rain.csv" },
    id: callId,
    type: "tool_call",
  };
  return [
    { type: "human", content: prose(length / 4) },
    { ...ai, content: "", tool_calls: [call] },
    { type: "tool", name: "read_file", tool_call_id: callId, status: "success", content: prose(length) },
    { ...ai, content: prose(length / 2), tool_calls: [] },
  ].map((message) => ({ id: randomUUID(), ...message }));
}

/** Threads of 20 to 200 messages: short ones of long messages, long ones of short. */
async function makeThreads({ url }: BenchServer): Promise<string[]> {
  const ids: string[] = [];
  for (let made = 0; made < THREADS; made++) {
    const exchanges = TURNS * (1 + Math.round((9 * made) / THREADS));
    const messages = Array.from({ length: exchanges }, () =>
      exchange((THREAD_BYTES / exchanges - 1_000) / 1.75),
    ).flat();
    const size = messages.length / TURNS;
    const supersteps = Array.from({ length: TURNS }, (_, turn) => ({
      updates: [{ as_node: "answer", values: { messages: messages.slice(turn * size, (turn + 1) * size) } }],
    }));
    const thread_id = randomUUID();
    await send(`${url}/threads`, "POST", { thread_id, supersteps, metadata: { graph_id: "one-node" } });
    ids.push(thread_id);
  }
  return ids;
}

interface Figures {
  readonly cpuMs: number[];
  readonly wallMs: number[];
}

/** By server; they must answer alike. */
async function measure(
  servers: readonly BenchServer[],
  work: (url: string) => Promise<string>,
): Promise<{ figures: Figures[]; bytes: number }> {
  const figures = servers.map((): Figures => ({ cpuMs: [], wallMs: [] }));
  const answers = new Set<string>();
  for (let round = -1; round < ROUNDS; round++) {
    for (const [place, { url, pid }] of servers.entries()) {
      const before = usageOf(pid).cpuMs;
      const began = performance.now();
      answers.add(await work(url));
      const wallMs = performance.now() - began;
      // The first round warms up.
      if (round < 0) continue;
      figures[place]?.wallMs.push(wallMs);
      figures[place]?.cpuMs.push(usageOf(pid).cpuMs - before);
    }
  }
  const [answer = "", another] = answers;
  if (another !== undefined) throw new Error("the answers differ");
  return { figures, bytes: answer.length };
}

async function repeat<T>(items: readonly T[], work: (item: T) => Promise<string>): Promise<string> {
  let text = "";
  for (const item of items) text += await work(item);
  return text;
}

async function bench(servers: readonly [BenchServer, ...BenchServer[]]): Promise<void> {
  const ids = await makeThreads(servers[0]);
  const search = (url: string, body: object) =>
    send(`${url}/threads/search`, "POST", { limit: THREADS, ...body });
  const last = { select: ["thread_id"], extract: { last: "values.messages[-1].content" } };
  const cells: Record<string, (url: string) => Promise<string>> = {
    "a page of 100 threads": (url) => search(url, {}),
    "with the last message only": (url) => search(url, last),
    "a search by values that finds none": (url) => search(url, { values: { messages: [{ content: "?" }] } }),
    "100 pages without values": (url) => repeat(ids, () => search(url, { select: ["thread_id", "status"] })),
    "100 states": (url) => repeat(ids, (id) => send(`${url}/threads/${id}/state`, "GET")),
    "100 histories of 5": (url) => repeat(ids, (id) => send(`${url}/threads/${id}/history`, "POST", {})),
  };
  const columns = [
    "answer",
    "CPU",
    "time",
    ...(BASE ? ["CPU before", "time before", "ratio of CPU (min–max)"] : []),
  ];
  print(`| | ${columns.join(" | ")} |`);
  print(`|---${"|---".repeat(columns.length)}|`);
  for (const [name, work] of Object.entries(cells)) {
    const { figures, bytes } = await measure(servers, work);
    const [own, base] = figures;
    const times = figures.flatMap(({ cpuMs, wallMs }) =>
      [cpuMs, wallMs].map((each) => `${median(each).toFixed(0)} ms`),
    );
    const ratios = base?.cpuMs.map((before, round) => before / (own?.cpuMs[round] ?? Number.NaN)) ?? [];
    const [ratio, min, max] = [median(ratios), Math.min(...ratios), Math.max(...ratios)].map((each) =>
      each.toFixed(1),
    );
    const shown = [`${(bytes / 1e6).toFixed(1)} MB`, ...times, ...(base ? [`${ratio} (${min}–${max})`] : [])];
    print(`| ${name} | ${shown.join(" | ")} |`);
  }
}

async function startVersion(cleanup: Cleanup, folder: string, databaseUrl: string, root: string) {
  mkdirSync(folder);
  const graph = path.relative(folder, path.join(root, "bench/graphs/one-node.ts"));
  const graphs = { "one-node": `./${graph}:graph` };
  writeFileSync(path.join(folder, "langgraph.json"), JSON.stringify({ graphs }));
  const profileFolder = PROFILE && path.resolve(PROFILE, path.basename(folder));
  return startHeddle({
    folder,
    modelUrl: "http://127.0.0.1:1/v1",
    cleanup,
    databaseUrl,
    profileFolder,
    root,
  });
}

const cleanup = createCleanup();
try {
  const { folder, databaseUrl } = await openDatabase("threads", cleanup);
  const start = (name: string, root: string) =>
    startVersion(cleanup, path.join(folder, name), databaseUrl, root);
  const own = await start("own", path.join(import.meta.dirname, ".."));
  const others = BASE ? [await start("before", path.resolve(BASE))] : [];
  const [cpu] = cpus();
  print(
    `${cpus().length} cores (${cpu?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}, ` +
      `${process.env.DATABASE_URL ? "own" : "embedded"} PostgreSQL, medians of ${ROUNDS} rounds\n`,
  );
  await bench([own, ...others]);
} finally {
  await cleanup.run();
}
