// The PostgreSQL that Heddle brings along, for a machine that has none: makes the cluster once, starts or adopts its
// postmaster, starts it again when it dies, stops it at the end. One Heddle per data directory.
import type { ChildProcess } from "node:child_process";
import { existsSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import pg from "pg";
import { StartupError } from "../errors.ts";
import { CLUSTER_USER, type Cluster, lastLine, prepareCluster } from "./cluster.ts";
import { freePort } from "./free-port.ts";
import { isPostmaster, readPostmaster, removeStalePid } from "./postmaster.ts";

/** Longest wait for a start: crash recovery of a large cluster takes its time. */
const START_TIMEOUT_MS = 60_000;
const STOP_TIMEOUT_MS = 20_000;
/** Key of the session lock that a running Heddle holds on its cluster. */
const OWNER_LOCK = 0x6f_77_6e_65_72;

export interface EmbeddedPostgres {
  readonly url: string;
  /** The postmaster was already running, left behind by a Heddle that was killed. */
  readonly adopted: boolean;
  stop(): Promise<void>;
}

interface EmbeddedOptions {
  readonly dataDir: string;
  /** Told when the postmaster died and when it is back. */
  readonly onEvent: (event: "died" | "restarted", error?: unknown) => void;
}

/**
 * Starts the PostgreSQL of `dataDir`, or adopts it when it still runs.
 * @throws StartupError when the directory cannot be used, is in use, or PostgreSQL does not come up
 */
export async function startEmbedded({ dataDir, onEvent }: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const cluster = await prepareCluster(dataDir);
  let stopping = false;
  const first = await bringUp(cluster, undefined);
  let owner = await takeOwnership(cluster, first.port);

  // The lock's connection ends when the postmaster dies: that is the sign to start it again, on the same port, so
  // that every pool finds it where it was.
  const watch = (client: pg.Client) => client.once("end", () => void revive());
  const revive = async () => {
    if (stopping) return;
    onEvent("died");
    for (let pause = 100; !stopping; pause = Math.min(pause * 2, 5_000)) {
      try {
        await bringUp(cluster, first.port);
        owner = await takeOwnership(cluster, first.port);
        watch(owner);
        onEvent("restarted");
        return;
      } catch (error) {
        onEvent("died", error);
        await delay(pause);
      }
    }
  };
  watch(owner);

  return {
    url: toSocketUrl(cluster, first.port),
    adopted: first.adopted,
    async stop() {
      stopping = true;
      await owner.end().catch(() => undefined);
      const postmaster = readPostmaster(cluster.folder);
      if (postmaster) await stopPostmaster(cluster.folder, postmaster.pid);
    },
  };
}

/** Adopts a postmaster that answers, else starts one; `port` keeps an earlier port. */
async function bringUp(
  cluster: Cluster,
  port: number | undefined,
): Promise<{ port: number; adopted: boolean }> {
  const found = readPostmaster(cluster.folder);
  if (found && isPostmaster(found.pid, cluster.folder)) {
    await waitUntilReady(cluster, found.port, () => isPostmaster(found.pid, cluster.folder));
    return { port: found.port, adopted: true };
  }
  // PostgreSQL itself refuses to start beside a file whose pid is alive, even when another program has that pid now.
  if (found) removeStalePid(cluster.folder, found.pid);
  const chosen = port ?? (await freePort());
  const child = startPostmaster(cluster, chosen);
  let exited = false;
  child.once("exit", () => {
    exited = true;
  });
  await waitUntilReady(cluster, chosen, () => !exited);
  return { port: chosen, adopted: false };
}

function startPostmaster(cluster: Cluster, port: number): ChildProcess {
  const log = openSync(cluster.logFile, "a", 0o600);
  // detached: Ctrl-C in a terminal goes to the whole process group, and Heddle must stop its runs before PostgreSQL.
  const child = cluster.launcher.spawn(
    cluster.postgres,
    [
      "-D",
      cluster.folder,
      "-p",
      String(port),
      "-c",
      "listen_addresses=127.0.0.1",
      "-c",
      `unix_socket_directories=${hasSocket(cluster) ? cluster.folder : ""}`,
      "-c",
      "max_connections=200",
      "-c",
      "log_min_messages=warning",
      "-c",
      "log_line_prefix=%m [%p] ",
    ],
    { stdio: ["ignore", log, log], detached: true },
  );
  child.unref();
  return child;
}

async function waitUntilReady(cluster: Cluster, port: number, isAlive: () => boolean): Promise<void> {
  const until = Date.now() + START_TIMEOUT_MS;
  for (;;) {
    const client = newClient(cluster, port);
    try {
      await client.connect();
      await client.end();
      return;
    } catch (error) {
      await client.end().catch(() => undefined);
      if (!isAlive() || Date.now() > until) {
        throw new StartupError(
          `PostgreSQL does not come up: ${lastLine(readLog(cluster.logFile)) || (error instanceof Error ? error.message : error)}.`,
          {
            file: cluster.logFile,
            next: `tail ${cluster.logFile}`,
            cause: error,
          },
        );
      }
      await delay(20);
    }
  }
}

/** Holds a session lock for as long as this Heddle lives; a second Heddle on the same directory does not get it. */
async function takeOwnership(cluster: Cluster, port: number): Promise<pg.Client> {
  const client = newClient(cluster, port);
  client.on("error", () => undefined);
  await client.connect();
  const lock = await client.query<{ held: boolean }>("select pg_try_advisory_lock($1::bigint) as held", [
    OWNER_LOCK,
  ]);
  if (lock.rows[0]?.held) return client;
  const holder = await client.query<{ application_name: string }>(
    `select application_name from pg_locks join pg_stat_activity using (pid)
     where locktype = 'advisory' and granted and objid = $1::bigint::bit(32)::bigint::oid limit 1`,
    [OWNER_LOCK],
  );
  await client.end();
  const pid = holder.rows[0]?.application_name.match(/\d+$/)?.[0];
  throw new StartupError(`Another Heddle${pid ? ` (pid ${pid})` : ""} uses this data directory.`, {
    file: path.dirname(cluster.folder),
    next: `Stop it${pid ? ` (kill ${pid})` : ""}, or start this one with another DATA_DIR.`,
  });
}

const newClient = (cluster: Cluster, port: number) =>
  new pg.Client({
    connectionString: toUrl(cluster, port),
    application_name: `heddle owner ${process.pid}`,
    connectionTimeoutMillis: 5_000,
    keepAlive: true,
  });

const toUrl = (cluster: Cluster, port: number) =>
  `postgresql://${CLUSTER_USER}:${encodeURIComponent(cluster.password)}@127.0.0.1:${port}/postgres`;

const SOCKET = ".s.PGSQL";

/** Addresses of sockets are short: 104 bytes on macOS, 108 on Linux, with the zero at their end. */
const hasSocket = ({ folder }: Cluster) => Buffer.byteLength(path.join(folder, `${SOCKET}.65535`)) < 104;

/** Over the Unix socket, where there is one: a statement takes less of both sides' time than over TCP (bench/README.md). */
function toSocketUrl(cluster: Cluster, port: number): string {
  const url = new URL(toUrl(cluster, port));
  if (existsSync(path.join(cluster.folder, `${SOCKET}.${port}`)))
    url.searchParams.set("host", cluster.folder);
  return url.href;
}

async function stopPostmaster(folder: string, pid: number): Promise<void> {
  const started = Date.now();
  // SIGINT is PostgreSQL's fast shutdown, SIGQUIT its immediate one (the next start recovers).
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    if (!kill(pid, signal)) return;
    const until = signal === "SIGINT" ? started + STOP_TIMEOUT_MS : started + STOP_TIMEOUT_MS + 2_000;
    while (Date.now() < until) {
      await delay(10);
      // The file goes last; the pid may stay for a while as a zombie that nobody has reaped.
      if (!readPostmaster(folder) || !kill(pid, 0)) return;
    }
  }
}

function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    return false;
  }
}

const readLog = (file: string) => (existsSync(file) ? readFileSync(file, "utf8").slice(-4_000) : "");
