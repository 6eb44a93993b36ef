// A PostgreSQL whose every commit waits for a replica, both behind one address: when it is killed, the replica takes its
// place, once.
import { execFileSync } from "node:child_process";
import { chownSync, writeFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { CLUSTER_USER, prepareCluster } from "../../../src/db/cluster.ts";
import { freePort } from "../../../src/db/free-port.ts";
import type { Custody } from "./custody.ts";
import { kill, type RigPostgres, spawnPostmaster, toUrl, untilReady } from "./postgres.ts";
import { startProxy } from "./proxy.ts";

/** How long clients reach a replica that is not promoted yet, and takes no writes. */
const READ_ONLY_MS = 500;

/** `crash` kills the primary, `start` sends everybody to the replica and promotes it a little later. */
export async function startReplicated(custody: Custody, name: string): Promise<RigPostgres> {
  const primary = await prepareCluster(path.join(custody.folder, name));
  const standby = { ...primary, folder: `${primary.folder}-standby`, logFile: `${primary.logFile}-standby` };
  execFileSync("cp", ["-a", primary.folder, standby.folder]);
  const signal = path.join(standby.folder, "standby.signal");
  writeFileSync(signal, "");
  const { owner } = primary.launcher;
  if (owner) chownSync(signal, owner.uid, owner.gid);

  const [primaryPort, standbyPort] = [await freePort(), await freePort()];
  const source = `host=127.0.0.1 port=${primaryPort} user=${CLUSTER_USER} password=${primary.password}`;
  const first = spawnPostmaster(custody, primary, { port: primaryPort });
  await untilReady(toUrl(primary, primaryPort)("postgres"), first);
  const second = spawnPostmaster(custody, standby, {
    port: standbyPort,
    settings: [`primary_conninfo=${source} application_name=standby`],
  });
  await untilReady(toUrl(primary, standbyPort)("postgres"), second);
  await on(toUrl(primary, primaryPort)("postgres"), [
    "alter system set synchronous_standby_names = 'standby'",
    "select pg_reload_conf()",
  ]);
  const proxy = await startProxy(primaryPort);
  return {
    port: proxy.port,
    url: toUrl(primary, proxy.port),
    crash: () => kill(first),
    async start() {
      proxy.redirect(standbyPort);
      await delay(READ_ONLY_MS);
      await on(toUrl(primary, standbyPort)("postgres"), ["select pg_promote()"]);
    },
    async close() {
      await proxy.close();
      await kill(first);
      await kill(second);
    },
  };
}

async function on(url: string, statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  for (const statement of statements) await client.query(statement);
  await client.end();
}
