// Starts real servers and does to them what happens to servers: kills, pauses, stops. Only what it has started.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readFileSync } from "node:fs";
import path from "node:path";
import type { Custody } from "./custody.ts";
import type { History } from "./history.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const FAKETIME = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/** Why clocks cannot be changed here, or undefined. */
export const whyNoFaketime = () =>
  existsSync(FAKETIME) ? undefined : `faketime is not installed (${FAKETIME})`;

export interface StartOptions {
  /** Settings as environment variables. */
  readonly env?: Record<string, string>;
  /** The process's clock against the real one, as faketime takes it: "+1h", "-5". */
  readonly clock?: string;
  /** `name@n` of crash-points.ts; `name@n@SIGSTOP` stops there instead. */
  readonly crash?: string;
  /** A graph may kill it. */
  readonly mayDie?: boolean;
  /** Beside all the others that start. */
  readonly atOnce?: boolean;
  /** Another way to the database. */
  readonly databaseUrl?: string;
}

export interface Instance {
  readonly name: string;
  readonly url: string;
  readonly pid: number;
  readonly running: boolean;
  kill(): Promise<void>;
  pause(): void;
  resume(): void;
  /** Whether it has stopped by itself, at a point that was named for it. */
  hasStopped(): boolean;
  /** SIGTERM; resolves when it has ended. */
  term(): Promise<void>;
  /** Resolves when it has ended, however. */
  readonly ended: Promise<void>;
  log(): string;
}

export interface Supervisor {
  readonly instances: readonly Instance[];
  /** Instances that run and are not paused. */
  live(): readonly Instance[];
  start(name: string, options?: StartOptions): Promise<Instance>;
  /** Ends them all; each exit is expected then. */
  close(): Promise<void>;
}

interface SupervisorOptions {
  readonly custody: Custody;
  readonly history: History;
  readonly folder: string;
  readonly databaseUrl: string;
  readonly modelUrl: string;
  readonly leaseSeconds: number;
  readonly mutant: string | undefined;
}

export function createSupervisor(options: SupervisorOptions): Supervisor {
  const { custody, history, folder, databaseUrl, modelUrl, leaseSeconds, mutant } = options;
  const instances: (Instance & { paused: boolean })[] = [];
  let isClosing = false;
  mkdirSync(path.join(folder, "data"), { recursive: true });

  const start = (name: string, own: StartOptions = {}) =>
    own.atOnce ? startNow(name, own) : custody.inTurn(() => startNow(name, own));

  const startNow = async (name: string, own: StartOptions): Promise<Instance> => {
    const logFile = path.join(folder, `${name}.txt`);
    const log = openSync(logFile, "a");
    const child = spawn(
      process.execPath,
      [
        "--disable-warning=ExperimentalWarning",
        "--import",
        path.join(import.meta.dirname, "hook.ts"),
        path.join(ROOT, "src/main.ts"),
        "--config",
        path.join(import.meta.dirname, "graphs/langgraph.json"),
      ],
      {
        cwd: folder,
        env: {
          PATH: process.env.PATH,
          NODE_COMPILE_CACHE: path.join(ROOT, "node_modules/.cache/node-compile"),
          PORT: "0",
          DATA_DIR: path.join(folder, "data"),
          DATABASE_URL: own.databaseUrl ?? databaseUrl,
          LEASE_SECONDS: String(leaseSeconds),
          GRACE_SECONDS: "0",
          LOG_LEVEL: "info",
          SANDBOX: "virtual",
          WORKERS: "10",
          RIG_MODEL_URL: modelUrl,
          RIG_BLOCK_MS: String(leaseSeconds * 2_000),
          RIG_INSTANCE: name,
          ...(own.crash ? { RIG_CRASH: own.crash } : {}),
          ...(mutant ? { RIG_MUTANT: mutant } : {}),
          ...(own.clock
            ? {
                LD_PRELOAD: FAKETIME,
                FAKETIME: own.clock,
                FAKETIME_DONT_FAKE_MONOTONIC: "1",
                FAKETIME_NO_CACHE: "1",
              }
            : {}),
          ...own.env,
        },
        stdio: ["ignore", log, log],
      },
    );
    custody.add(child);
    const pid = child.pid ?? 0;
    history.add({ op: "fault", kind: "start", instance: name, pid });
    let expected = own.crash !== undefined || own.mayDie === true;
    const ended = once(child, "exit").then(([code, signal]) => {
      history.add({ op: "exit", instance: name, pid, expected, atEnd: isClosing, how: `${code ?? signal}` });
    });
    const url = await untilListening(child, logFile, name);
    const fault = (kind: "kill" | "pause" | "resume" | "term") =>
      history.add({ op: "fault", kind, instance: name, pid });
    const isRunning = () => child.exitCode === null && child.signalCode === null;
    const instance = {
      name,
      url,
      pid,
      ended,
      paused: false,
      get running() {
        return isRunning();
      },
      async kill() {
        if (!isRunning()) return;
        expected = true;
        // The end of the world is no fault.
        if (!isClosing) fault("kill");
        child.kill("SIGKILL");
        await ended;
      },
      pause() {
        if (!isRunning()) return;
        instance.paused = true;
        fault("pause");
        child.kill("SIGSTOP");
      },
      hasStopped: () => isRunning() && !instance.paused && stateOf(pid) === "T",
      resume() {
        instance.paused = false;
        fault("resume");
        child.kill("SIGCONT");
      },
      async term() {
        if (!isRunning()) return;
        expected = true;
        fault("term");
        child.kill("SIGTERM");
        await ended;
      },
      log: () => readFileSync(logFile, "utf8"),
    };
    instances.push(instance);
    return instance;
  };

  return {
    instances,
    live: () => instances.filter((instance) => instance.running && !instance.paused),
    start,
    async close() {
      isClosing = true;
      for (const instance of instances) if (instance.paused && instance.running) instance.resume();
      await Promise.all(instances.map((instance) => instance.kill()));
    },
  };
}

/** Field 3 of /proc/pid/stat. */
function stateOf(pid: number): string | undefined {
  const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
  return stat[stat.lastIndexOf(")") + 2];
}

/** The address that it prints. @throws with what it printed, when it ends before */
async function untilListening(child: ChildProcess, logFile: string, name: string): Promise<string> {
  const offset = readFileSync(logFile).length;
  for (;;) {
    const text = readFileSync(logFile).subarray(offset).toString();
    const url = text.match(/listens on (http:\/\/\S+)/)?.[1];
    if (url) return url;
    if (child.exitCode !== null || child.signalCode !== null)
      throw new EndedAtStart(
        `${name} ended with ${child.exitCode ?? child.signalCode} at its start:\n${text.slice(-2_000)}`,
      );
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** A server that was killed, or gave up, before it listened. */
export class EndedAtStart extends Error {}
