// `npm run bench:checkpoints`: what a named checkpoint costs, by the size of the state and by storage: to save, to load, in
// bytes; and over HTTP to make one and to restore it. Prints the table of bench/README.md.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir, totalmem } from "node:os";
import path from "node:path";
import { createClient } from "@redis/client";
import { type App, buildApp } from "../src/app.ts";
import { createMemoryStorage } from "../src/checkpoints/memory-storage.ts";
import { createPostgresStorage } from "../src/checkpoints/postgres-storage.ts";
import { createRedisStorage } from "../src/checkpoints/redis-storage.ts";
import type { CheckpointBackend } from "../src/checkpoints/storage.ts";
import { loadConfig } from "../src/config.ts";
import { createDatabase, type Database } from "../src/db/database.ts";
import { createCaller } from "../test/checkpoints/caller.ts";
import { hasRedis, startRedis } from "../test/helpers/redis.ts";
import { percentile } from "./peer/measure.ts";

const ROUNDS = Number(process.env.ROUNDS ?? 100);
/** Messages of about 300 characters in the state. */
const SIZES = [10, 100, 1_000];

const print = (text = "") => process.stdout.write(`${text}\n`);
const ms = (values: readonly number[], p: number) => percentile(values, p).toFixed(1);
const kib = (bytes: number) => `${(bytes / 1024).toFixed(0)} KiB`;

async function time(times: number[], work: () => Promise<unknown>): Promise<void> {
  const began = performance.now();
  await work();
  times.push(performance.now() - began);
}

interface Kept {
  readonly name: string;
  readonly backend: CheckpointBackend;
  /** Bytes that a checkpoint takes there. */
  bytes(threadId: string, checkpointId: string): Promise<number>;
}

async function makeThread(url: string, messages: number): Promise<string> {
  const { body: thread } = await createCaller(url).send("POST", "/threads", {});
  const input = {
    messages: Array.from({ length: messages }, (_, n) => ({
      role: n % 2 === 0 ? "user" : "assistant",
      content: `Message ${n}: ${"some words of a conversation ".repeat(10)}`,
    })),
  };
  await createCaller(url).send("POST", `/threads/${thread.thread_id}/runs/wait`, {
    assistant_id: "g1",
    input,
  });
  return thread.thread_id;
}

async function openBackends(db: Database, cleanup: (() => Promise<void>)[]): Promise<Kept[]> {
  const memory = createMemoryStorage();
  const kept: Kept[] = [
    {
      name: "memory",
      backend: memory,
      bytes: async (threadId, id) => JSON.stringify(await memory.open({ threadId }).load(id)).length,
    },
    {
      name: "postgres",
      backend: createPostgresStorage({ db }),
      async bytes(threadId, id) {
        const [row] = await db.query<{ size: number }>(
          "select pg_column_size(document) as size from heddle.workflow_checkpoints where thread_id = $1 and checkpoint_id = $2",
          [threadId, id],
        );
        return row?.size ?? 0;
      },
    },
  ];
  if (!hasRedis) return kept;
  const redis = await startRedis();
  const backend = createRedisStorage({ url: redis.url });
  const client = await createClient({ url: redis.url }).connect();
  cleanup.push(async () => {
    client.destroy();
    await backend.close();
    await redis.close();
  });
  const bytes = async (threadId: string, id: string) =>
    Number(await client.hStrLen(`heddle:checkpoints:{${threadId}}:documents`, id));
  return [...kept, { name: "redis", backend, bytes }];
}

async function measure(url: string, db: Database, kept: readonly Kept[]): Promise<void> {
  print("| messages | storage | save p50 | p99 | load p50 | p99 | stored |\n|---|---|---|---|---|---|---|");
  const call = createCaller(url);
  const overHttp: string[] = [];
  for (const messages of SIZES) {
    const threadId = await makeThread(url, messages);
    const made = await call.create(threadId);
    const checkpoint = await createPostgresStorage({ db }).open({ threadId }).load(made.checkpoint_id);
    if (!checkpoint) throw new Error("the checkpoint is missing");
    for (const { name, backend, bytes } of kept) {
      const storage = backend.open({ threadId });
      const saves: number[] = [];
      const loads: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const one = { ...checkpoint, checkpoint_id: crypto.randomUUID() };
        await time(saves, () => storage.save(one));
        await time(loads, () => storage.load(one.checkpoint_id));
        if (round < ROUNDS - 1) await storage.delete(one.checkpoint_id);
        else checkpoint.checkpoint_id = one.checkpoint_id;
      }
      const size = await bytes(threadId, checkpoint.checkpoint_id);
      print(
        `| ${messages} | ${name} | ${ms(saves, 0.5)} ms | ${ms(saves, 0.99)} ms | ${ms(loads, 0.5)} ms | ${ms(loads, 0.99)} ms | ${kib(size)} |`,
      );
    }
    const creates: number[] = [];
    const restores: number[] = [];
    const copies: number[] = [];
    for (let round = 0; round < ROUNDS / 5; round++) {
      await time(creates, () => call.create(threadId));
      await time(restores, () => call.restore(threadId, made.checkpoint_id));
      await time(copies, () => call.restore(threadId, made.checkpoint_id, { new_thread: true }));
    }
    overHttp.push(
      `| ${messages} | ${ms(creates, 0.5)} ms | ${ms(restores, 0.5)} ms | ${ms(copies, 0.5)} ms | ${kib(JSON.stringify(made).length)} |`,
    );
  }
  print("\n| messages | make | restore | restore on a new thread | view |\n|---|---|---|---|---|");
  for (const line of overHttp) print(line);
}

const folder = mkdtempSync(path.join(tmpdir(), "heddle-bench-checkpoints-"));
const cleanup: (() => Promise<void>)[] = [];
try {
  const graph = path.relative(folder, path.join(import.meta.dirname, "graphs/g1.ts"));
  const file = path.join(folder, "langgraph.json");
  writeFileSync(file, JSON.stringify({ graphs: { g1: `${graph}:graph` } }));
  const env = { PORT: "0", DATA_DIR: folder, LOG_LEVEL: "silent", GRACE_SECONDS: "0" };
  const config = loadConfig({ cwd: folder, env: { ...env, DATABASE_URL: process.env.DATABASE_URL ?? "" } });
  const app: App = await buildApp(config, file);
  cleanup.push(() => app.close());
  const url = await app.server.listen({ host: config.host, port: config.port });
  const db = createDatabase({ url: app.databaseUrl, onError: () => undefined });
  cleanup.push(() => db.close());
  print(
    `${new Date().toISOString().slice(0, 10)}, ${cpus().length} cores, ${(totalmem() / 2 ** 30).toFixed(0)} GiB, Node ${process.version}, ${ROUNDS} rounds\n`,
  );
  await measure(url, db, await openBackends(db, cleanup));
} finally {
  for (const clean of cleanup.reverse()) await clean();
  rmSync(folder, { recursive: true, force: true });
}
