// A Redis of a test's own, where the machine has one.
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { createClient } from "@redis/client";
import { freePort } from "../../src/db/free-port.ts";

export const hasRedis = spawnSync("redis-server", ["--version"], { stdio: "ignore" }).status === 0;

export interface TestRedis {
  readonly url: string;
  close(): Promise<void>;
}

/** In memory only. */
export async function startRedis(): Promise<TestRedis> {
  const port = await freePort();
  const child = spawn(
    "redis-server",
    ["--port", String(port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"],
    { stdio: "ignore" },
  );
  const url = `redis://127.0.0.1:${port}`;
  const client = createClient({ url, socket: { reconnectStrategy: () => 20 } });
  client.on("error", () => undefined);
  await Promise.race([
    client.connect(),
    once(child, "exit").then(() => Promise.reject(new Error("redis-server did not start"))),
  ]);
  client.destroy();
  return {
    url,
    async close() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

/** The one of REDIS_URL, else one of the test file's own; undefined where the machine has none. */
export async function findRedis(): Promise<TestRedis | undefined> {
  const url = process.env.REDIS_URL;
  if (url) return { url, close: async () => undefined };
  return hasRedis ? startRedis() : undefined;
}
