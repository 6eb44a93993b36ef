// A real Heddle as a process of its own, for tests of starting, stopping and being killed.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";

const ROOT = path.resolve(import.meta.dirname, "../..");

export interface HeddleProcess {
  readonly child: ChildProcess;
  /** What it has printed so far, both streams. */
  output(): string;
  /** Resolves with the address once it listens; rejects with what it printed when it ends before. */
  listening(): Promise<string>;
  /** Resolves when it has ended. */
  ended(): Promise<{ code: number | null; signal: string | null }>;
  /** Ends it if it still runs. */
  stop(signal?: NodeJS.Signals): Promise<void>;
}

interface Options {
  readonly env: Record<string, string>;
  readonly args?: readonly string[];
  readonly cwd?: string;
}

export function startProcess({ env, args = [], cwd = ROOT }: Options): HeddleProcess {
  const main = path.join(ROOT, "src/main.ts");
  const child = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", main, ...args], {
    cwd,
    env: {
      PATH: process.env.PATH ?? "",
      HOME: process.env.HOME ?? "",
      PORT: "0",
      // As `npm start` does.
      NODE_COMPILE_CACHE: path.join(ROOT, "node_modules/.cache/node-compile"),
      GRACE_SECONDS: "0",
      ...env,
    },
    stdio: ["ignore", "pipe", "pipe"],
  });
  let text = "";
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  promise.catch(() => undefined);
  const collect = (chunk: Buffer) => {
    text += chunk.toString();
    const url = text.match(/listens on (http:\/\/\S+)/)?.[1];
    if (url) resolve(url);
  };
  child.stdout.on("data", collect);
  child.stderr.on("data", collect);
  const exited = once(child, "close").then(([code, signal]) => {
    reject(new Error(`Heddle ended with ${code ?? signal}:\n${text}`));
    return { code: code as number | null, signal: signal as string | null };
  });
  return {
    child,
    output: () => text,
    listening: () => promise,
    ended: () => exited,
    async stop(signal = "SIGTERM") {
      if (child.exitCode === null && child.signalCode === null) child.kill(signal);
      await exited;
    },
  };
}
