// The two servers as processes, each with all that it starts in a process group of its own.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { freePort } from "../../src/db/free-port.ts";
import type { Cleanup } from "./cleanup.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const START_MS = 60_000;
const STOP_MS = 10_000;

export interface BenchServer {
  readonly name: "Heddle" | "dev server";
  readonly url: string;
  readonly pid: number;
  /** Before each cell. */
  clear(): Promise<void>;
}

interface Options {
  /** For everything that the servers write; holds the langgraph.json. */
  readonly folder: string;
  readonly modelUrl: string;
  readonly cleanup: Cleanup;
}

export async function startHeddle(
  options: Options & {
    readonly databaseUrl: string;
    readonly profileFolder: string | undefined;
    /** The folder of the version that is to be started: this one by default. */
    readonly root?: string | undefined;
  },
): Promise<BenchServer> {
  const { folder, databaseUrl, profileFolder, root = ROOT } = options;
  const port = await freePort();
  const profile = profileFolder === undefined ? [] : ["--cpu-prof", `--cpu-prof-dir=${profileFolder}`];
  const args = [...profile, "--disable-warning=ExperimentalWarning", path.join(root, "src/main.ts")];
  const env = {
    // As `npm start` sets it.
    NODE_COMPILE_CACHE: path.join(root, "node_modules/.cache/node-compile"),
    DATABASE_URL: databaseUrl,
    DATA_DIR: path.join(folder, "data"),
    SANDBOX: "virtual",
    PORT: String(port),
  };
  const config = path.join(folder, "langgraph.json");
  return start("Heddle", port, [...args, "--config", config], env, options, async () => undefined);
}

/** As shipped: in memory, ten workers. */
export async function startDevServer(options: Options): Promise<BenchServer> {
  const port = await freePort();
  const cli = path.join(ROOT, "node_modules/@langchain/langgraph-cli/dist/cli/cli.mjs");
  const args = [cli, "dev", "--no-browser", "--no-reload", "--host", "127.0.0.1", "--port", String(port)];
  const env = { LANGGRAPH_CLI_NO_ANALYTICS: "1" };
  // Everything is in memory and nothing ever leaves it: without this each cell would be slower than the last one.
  const clear = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/internal/truncate`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ runs: true, threads: true, checkpointer: true, store: true }),
    });
    if (!answer.ok) throw new Error(`the dev server was not cleared: ${answer.status}`);
  };
  const config = ["-c", path.join(options.folder, "langgraph.json")];
  return start("dev server", port, [...args, ...config], env, options, clear);
}

async function start(
  name: BenchServer["name"],
  port: number,
  args: readonly string[],
  env: Record<string, string>,
  { folder, modelUrl, cleanup }: Options,
  clear: () => Promise<void>,
): Promise<BenchServer> {
  const logFile = path.join(folder, `${name}.log`);
  const log = openSync(logFile, "a");
  const child = spawn(process.execPath, args, {
    cwd: folder,
    detached: true,
    env: { PATH: process.env.PATH, HOME: folder, BENCH_MODEL_URL: modelUrl, ...env },
    stdio: ["ignore", log, log],
  });
  closeSync(log);
  cleanup.add(() => stop(child));
  const url = `http://127.0.0.1:${port}`;
  const late = performance.now() + START_MS;
  for (;;) {
    const answer = await fetch(`${url}/ok`).catch(() => undefined);
    await answer?.text();
    if (answer?.ok) break;
    if (child.exitCode !== null || performance.now() > late) {
      throw new Error(`the ${name} did not start:\n${readFileSync(logFile, "utf8")}`);
    }
    await delay(20);
  }
  return { name, url, pid: child.pid ?? 0, clear };
}

/** First the process itself, which may have to write its profile; then whatever is left of its group. */
async function stop(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, "exit");
    child.kill("SIGTERM");
    await Promise.race([ended, delay(STOP_MS, undefined, { ref: false })]);
  }
  try {
    process.kill(-child.pid, "SIGKILL");
  } catch {
    // Nothing is left of it.
  }
}
