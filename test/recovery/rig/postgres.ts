// A PostgreSQL of the rig's own, from the project's embedded programs: it can be killed and started again, which
// src/db/embedded.ts would do by itself.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { openSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { CLUSTER_USER, prepareCluster } from "../../../src/db/cluster.ts";
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
}

export async function startPostgres(custody: Custody, name: string): Promise<RigPostgres> {
  const cluster = await prepareCluster(path.join(custody.folder, name));
  const port = await freePort();
  const log = openSync(cluster.logFile, "a");
  let postmaster: ChildProcess | undefined;
  const url = (database: string) =>
    `postgresql://${CLUSTER_USER}:${encodeURIComponent(cluster.password)}@127.0.0.1:${port}/${database}`;

  const start = async () => {
    const settings = ["listen_addresses=127.0.0.1", "unix_socket_directories=", "max_connections=400"];
    const args = [
      "-D",
      cluster.folder,
      "-p",
      String(port),
      ...settings.flatMap((setting) => ["-c", setting]),
    ];
    postmaster = cluster.launcher.spawn(cluster.postgres, args, { stdio: ["ignore", log, log] });
    custody.add(postmaster);
    await untilReady(url("postgres"), postmaster);
  };
  await start();
  return {
    port,
    url,
    start,
    async crash() {
      const child = postmaster;
      if (!child || child.exitCode !== null || child.signalCode !== null) return;
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}

async function untilReady(url: string, postmaster: ChildProcess): Promise<void> {
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
