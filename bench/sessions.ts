// `npm run bench:sessions`: message stores with 10,000 messages, one backend after the other; a thread of 1,000 messages
// exported and imported over HTTP. Prints the tables of bench/README.md.
import { randomUUID } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, totalmem } from "node:os";
import path from "node:path";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { createDatabase } from "../src/db/database.ts";
import { createMemoryMessageStores } from "../src/kit/memory-message-stores.ts";
import type { OpenMessageStore } from "../src/sessions/message-store-conformance.ts";
import { createPostgresMessageStore } from "../src/sessions/postgres-message-store.ts";
import { createRedisMessageStores } from "../src/sessions/redis-message-store.ts";
import { openDatabase } from "./open-database.ts";
import { startHeddle } from "./peer/bench-server.ts";
import { createCleanup } from "./peer/cleanup.ts";
import { percentile } from "./peer/measure.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 5);
const MESSAGES = 10_000;
const THREAD_MESSAGES = 1_000;
const WORDS = "one two three four five six seven eight nine ten ".repeat(4).trim();

const print = (text = "") => process.stdout.write(`${text}\n`);
const median = (values: readonly number[]) => percentile(values, 0.5);
const ms = (value: number) => `${value.toFixed(value < 10 ? 2 : 0)} ms`;
const mb = (bytes: number) => `${(bytes / 1_000_000).toFixed(1)} MB`;

const turns = (count: number): BaseMessage[] =>
  Array.from({ length: count }, (_, index) =>
    index % 2 === 0
      ? new HumanMessage({ id: randomUUID(), content: WORDS })
      : new AIMessage({ id: randomUUID(), content: WORDS }),
  );

async function timed<Result>(into: number[], work: () => Promise<Result>): Promise<Result> {
  const began = performance.now();
  const result = await work();
  into.push(performance.now() - began);
  return result;
}

async function benchStores(url: string): Promise<void> {
  const db = createDatabase({ url, onError: () => undefined });
  const { REDIS_URL } = process.env;
  const redis = REDIS_URL ? createRedisMessageStores({ url: REDIS_URL, ttlSeconds: 600 }) : undefined;
  const stores: Record<string, OpenMessageStore> = {
    memory: createMemoryMessageStores(),
    postgres: (sessionId) => createPostgresMessageStore({ db }, { owner: "bench", sessionId }),
    ...(redis ? { redis: redis.open } : {}),
  };
  print(`| backend | append a turn of 2 to ${MESSAGES} | append ${MESSAGES} at once | list ${MESSAGES} |`);
  print("|---|---|---|---|");
  for (const [name, open] of Object.entries(stores)) {
    const [turn, all, list]: [number[], number[], number[]] = [[], [], []];
    for (let round = 0; round < ROUNDS; round++) {
      const store = await open(randomUUID());
      await timed(all, () => store.add_messages(turns(MESSAGES)));
      for (let count = 0; count < 20; count++) await timed(turn, () => store.add_messages(turns(2)));
      const found = await timed(list, () => store.list_messages());
      if (found.length !== MESSAGES + 40) throw new Error(`${name} has lost messages`);
      await store.deserialize_state({ version: 1, messages: [] });
    }
    print(`| ${name} | ${[turn, all, list].map((times) => ms(median(times))).join(" | ")} |`);
  }
  await redis?.close();
  await db.close();
}

async function benchTransfer(url: string): Promise<void> {
  const send = async (route: string, init: RequestInit) => {
    const answer = await fetch(url + route, init);
    if (!answer.ok) throw new Error(`${route}: ${answer.status} ${await answer.text()}`);
    return answer;
  };
  const superstep = (messages: readonly BaseMessage[]) => ({
    updates: [
      {
        as_node: "answer",
        values: { messages: messages.map(({ id, type, content }) => ({ id, type, content })) },
      },
    ],
  });
  const all = turns(THREAD_MESSAGES);
  const byTurn = Array.from({ length: THREAD_MESSAGES / 2 }, (_, turn) => all.slice(turn * 2, turn * 2 + 2));
  const kinds = {
    "500 turns, with their history": byTurn.map(superstep),
    "one state, without history": [superstep(all)],
  };
  print(`| ${THREAD_MESSAGES} messages | checkpoints | file | export | import | import again |`);
  print("|---|---|---|---|---|---|");
  for (const [name, supersteps] of Object.entries(kinds)) {
    const body = JSON.stringify({ supersteps, metadata: { graph_id: "one-node" } });
    const made = await send("/threads", { method: "POST", body });
    const { thread_id } = (await made.json()) as { thread_id: string };
    const [exported, imported, again]: [number[], number[], number[]] = [[], [], []];
    let size = 0;
    let checkpoints = 0;
    for (let round = 0; round < ROUNDS; round++) {
      const file = await timed(exported, async () =>
        (await send(`/threads/${thread_id}/export`, {})).arrayBuffer(),
      );
      size = file.byteLength;
      await send(`/threads/${thread_id}`, { method: "DELETE" });
      const take = async () => (await send("/threads/import", { method: "POST", body: file })).json();
      ({ checkpoints } = (await timed(imported, take)) as { checkpoints: number });
      await timed(again, take);
    }
    const times = [exported, imported, again].map((each) => ms(median(each)));
    print(`| ${name} | ${checkpoints} | ${mb(size)} | ${times.join(" | ")} |`);
  }
}

const cleanup = createCleanup();
try {
  const { folder, databaseUrl } = await openDatabase("sessions", cleanup);
  const own = path.join(folder, "server");
  mkdirSync(own);
  const graph = path.relative(own, path.join(import.meta.dirname, "graphs/one-node.ts"));
  writeFileSync(
    path.join(own, "langgraph.json"),
    JSON.stringify({ graphs: { "one-node": `./${graph}:graph` } }),
  );
  const options = { folder: own, modelUrl: "http://127.0.0.1:1/v1", cleanup };
  const server = await startHeddle({ ...options, databaseUrl, profileFolder: undefined });
  const [cpu] = cpus();
  print(
    `${cpus().length} cores (${cpu?.model}), ${Math.round(totalmem() / 2 ** 30)} GiB, Node ${process.version}, ` +
      `${process.env.DATABASE_URL ? "own" : "embedded"} PostgreSQL, medians of ${ROUNDS} rounds\n`,
  );
  await benchStores(databaseUrl);
  print();
  await benchTransfer(server.url);
} finally {
  await cleanup.run();
}
