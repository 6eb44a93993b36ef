// A PostgreSQL of the rig's own, from the project's embedded programs: it can be killed and started again, which
// src/db/embedded.ts would do by itself.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { CLUSTER_USER, type Cluster, prepareCluster } from "../../../src/db/cluster.ts";
import { freePort } from "../../../src/db/free-port.ts";
import type { Custody } from "./custody.ts";

export interface RigPostgres {
  readonly port: number;
  /** Address of a database on it. */
  url(database: string): string;
  /** Ends the postmaster without a word; its children follow. */
  crash(): Promise<void>;
  /** Starts it again and waits until it takes connections. */
  start(): Promise<void>;
  /** Ends it, and what belongs to it. */
  close(): Promise<void>;
}

export async function startPostgres(custody: Custody, name: string): Promise<RigPostgres> {
  const cluster = await prepareCluster(path.join(custody.folder, name));
  const port = await freePort();
  const url = toUrl(cluster, port);
  let postmaster: ChildProcess | undefined;
  const start = async () => {
    postmaster = spawnPostmaster(custody, cluster, { port });
    await untilReady(url("postgres"), postmaster);
  };
  await start();
  const crash = () => kill(postmaster);
  return { port, url, start, crash, close: crash };
}

export const toUrl = (cluster: Cluster, port: number) => (database: string) =>
  `postgresql://${CLUSTER_USER}:${encodeURIComponent(cluster.password)}@127.0.0.1:${port}/${database}`;

const SETTINGS = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=400"];

export function spawnPostmaster(
  custody: Custody,
  { postgres, launcher, logFile, folder }: Cluster,
  { port, settings = [] }: { port: number; settings?: readonly string[] },
): ChildProcess {
  const log = openSync(logFile, "a");
  const args = [...SETTINGS, ...settings].flatMap((setting) => ["-c", setting]);
  const child = launcher.spawn(postgres, ["-D", folder, "-p", String(port), ...args], {
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  custody.add(child);
  return child;
}

export async function kill(postmaster: ChildProcess | undefined): Promise<void> {
  if (!postmaster || postmaster.exitCode !== null || postmaster.signalCode !== null) return;
  postmaster.kill("SIGKILL");
  await once(postmaster, "exit");
}

export async function untilReady(url: string, postmaster: ChildProcess): Promise<void> {
  for (;;) {
    const client = new pg.Client({ connectionString: url });
    client.on("error", () => undefined);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      await client.end().catch(() => undefined);
      // Killed children of the last postmaster may hold its shared memory for a moment: it says so and ends.
      if (postmaster.exitCode !== null || postmaster.signalCode !== null) throw error;
      await delay(20);
    }
  }
}
