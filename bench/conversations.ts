// `npm run bench:conversations`: changes of one conversation a second, with 1 and 32 writers on one and two servers; whether
// any of 5,000 is lost; how soon a client is told. Prints the tables of bench/README.md.
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import path from "node:path";
import { followConversation } from "../test/helpers/notifications.ts";
import { openDatabase } from "./open-database.ts";
import { type BenchServer, startHeddle } from "./peer/bench-server.ts";
import { type Cleanup, createCleanup } from "./peer/cleanup.ts";
import { percentile } from "./peer/measure.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const SECONDS = Number(process.env.SECONDS ?? 3);
/** Changes whose notification is timed, per round. */
const TOLD = 200;

type Values = Readonly<Record<string, unknown>>;

const print = (text = "") => process.stdout.write(`${text}\n`);
const median = (values: readonly number[]) => percentile(values, 0.5);
const ms = (value: number) => `${value.toFixed(value < 10 ? 1 : 0)} ms`;

async function startServers(cleanup: Cleanup): Promise<BenchServer[]> {
  const { folder, databaseUrl } = await openDatabase("conversations", cleanup);
  const graph = path.join(import.meta.dirname, "graphs/one-node.ts");
  const servers: BenchServer[] = [];
  for (const name of ["one", "two"]) {
    const own = path.join(folder, name);
    mkdirSync(own);
    const graphs = { "one-node": `./${path.relative(own, graph)}:graph` };
    writeFileSync(path.join(own, "langgraph.json"), JSON.stringify({ graphs }));
    const options = { folder: own, modelUrl: "http://127.0.0.1:1/v1", cleanup };
    servers.push(await startHeddle({ ...options, databaseUrl, profileFolder: undefined }));
  }
  return servers;
}

async function send(url: string, method: string, body?: object): Promise<Values> {
  const answer = await fetch(url, {
    method,
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${method} ${url}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Values;
}

const newThread = async ({ url }: BenchServer) =>
  String((await send(`${url}/threads`, "POST", {})).thread_id);
const patch = (server: BenchServer, threadId: string, values: Values) =>
  send(`${server.url}/threads/${threadId}/conversation`, "PATCH", { values });
const at = (servers: readonly BenchServer[], n: number) => servers[n % servers.length] as BenchServer;

/** Changes a second, of one conversation. */
async function write(
  servers: readonly BenchServer[],
  writers: number,
  toValues: (n: number) => Values,
): Promise<{ perSecond: number; times: number[] }> {
  const threadId = await newThread(at(servers, 0));
  const times: number[] = [];
  const began = performance.now();
  await Promise.all(
    Array.from({ length: writers }, async (_, writer) => {
      for (let n = 0; performance.now() - began < SECONDS * 1_000; n++) {
        const sent = performance.now();
        await patch(at(servers, writer + n), threadId, toValues(writer + n * writers));
        times.push(performance.now() - sent);
      }
    }),
  );
  return { perSecond: (times.length * 1_000) / (performance.now() - began), times };
}

const KINDS: readonly [name: string, toValues: (n: number) => Values][] = [
  ["one key replaced", (n) => ({ currentLevel: n })],
  ["one insight added", (n) => ({ keyInsights: [`finding ${n} of the iteration`] })],
];

async function throughput(servers: readonly BenchServer[]): Promise<void> {
  print("### Changes of one conversation (PATCH over HTTP)\n");
  print("| servers | writers | change | changes/s | p50 | p99 |\n|---|---|---|---|---|---|");
  const cells = [1, 2].flatMap((count) =>
    [1, 32].flatMap((writers) =>
      KINDS.map(([name, toValues]) => ({
        count,
        writers,
        name,
        toValues,
        rates: [] as number[],
        times: [] as number[],
      })),
    ),
  );
  for (let round = 0; round < ROUNDS; round++) {
    for (const { count, writers, toValues, rates, times } of cells) {
      const done = await write(servers.slice(0, count), writers, toValues);
      rates.push(done.perSecond);
      times.push(...done.times);
    }
  }
  for (const { count, writers, name, rates, times } of cells) {
    const row = [
      count,
      writers,
      name,
      median(rates).toFixed(0),
      ms(median(times)),
      ms(percentile(times, 0.99)),
    ];
    print(`| ${row.join(" | ")} |`);
  }
  print();
}

/** 50 writers, 100 changes each, on both servers in turn. */
async function nothingLost(servers: readonly BenchServer[]): Promise<void> {
  const threadId = await newThread(at(servers, 0));
  const began = performance.now();
  await Promise.all(
    Array.from({ length: 50 }, async (_, writer) => {
      for (let n = 0; n < 100; n++)
        await patch(at(servers, writer + n), threadId, {
          keyInsights: [`${writer}.${n}`],
          discoveries: [{ claim: `${writer}.${n}` }],
        });
    }),
  );
  const seconds = (performance.now() - began) / 1_000;
  const read = await send(`${at(servers, 0).url}/threads/${threadId}/conversation`, "GET");
  const { keyInsights = [], discoveries = [] } = read.values as Record<string, unknown[] | undefined>;
  print("### 50 writers, 100 changes each, on two servers\n");
  print("| version | insights | discoveries | lost | seconds |\n|---|---|---|---|---|");
  const lost = 10_000 - keyInsights.length - discoveries.length;
  print(
    `| ${read.version} | ${keyInsights.length} | ${discoveries.length} | ${lost} | ${seconds.toFixed(1)} |\n`,
  );
}

async function latency(servers: readonly BenchServer[]): Promise<void> {
  const answered: number[] = [];
  const told = servers.map((): number[] => []);
  for (let round = 0; round < ROUNDS; round++) {
    const threadId = await newThread(at(servers, 0));
    const followers = await Promise.all(servers.map(({ url }) => followConversation(url, threadId)));
    // By then each server knows that it is read at the other.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    for (let n = 0; n < TOLD; n++) {
      const sent = performance.now();
      const times = followers.map(async (follower, i) => {
        await follower.until((all) => all.length === n + 2);
        told[i]?.push(performance.now() - sent);
      });
      await patch(at(servers, 0), threadId, { currentLevel: n });
      answered.push(performance.now() - sent);
      await Promise.all(times);
    }
    for (const follower of followers) follower.close();
  }
  print("### From the request of a change\n");
  print("| until | p50 | p99 |\n|---|---|---|");
  const rows: [string, readonly number[] | undefined][] = [
    ["it is answered", answered],
    ["a client of the same server is told (SSE)", told[0]],
    ["a client of the other server is told (SSE)", told[1]],
  ];
  for (const [name, times = []] of rows)
    print(`| ${name} | ${ms(median(times))} | ${ms(percentile(times, 0.99))} |`);
}

const cleanup = createCleanup();
try {
  const servers = await startServers(cleanup);
  const [cpu] = cpus();
  const database = process.env.DATABASE_URL ? "own PostgreSQL" : "embedded PostgreSQL";
  print(
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores (${cpu?.model.trim()}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}, ${database}, ${ROUNDS} rounds of ${SECONDS} s per cell\n`,
  );
  await write(servers, 8, () => ({ currentLevel: 1 }));
  await throughput(servers);
  await nothingLost(servers);
  await latency(servers);
} finally {
  await cleanup.run();
}
