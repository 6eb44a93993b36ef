// Runs commands in just-bash, a shell written in TypeScript, so that a bare machine has a safe `bash`: only the
// thread's folders exist, and no process is started. Each command has a worker thread, which can be terminated.
import { Worker } from "node:worker_threads";
import { AppError } from "../errors.ts";
import type { ExecuteResult, SandboxDescription } from "../kit/sandbox.ts";
import {
  type Command,
  EXIT_KILLED,
  EXIT_TIMED_OUT,
  type Provider,
  type SandboxFolders,
  type SandboxLimits,
} from "./provider.ts";
import type { VirtualReply, VirtualRequest, VirtualWorkerData } from "./virtual-worker.ts";

/** JavaScript heap of one worker: a command that needs more ends, the server goes on. */
const MAX_HEAP_MB = 512;
const DESCRIPTION: SandboxDescription = {
  name: "virtual",
  lacks: [
    "no network",
    "no python, node, perl or other language",
    "no git, make or compilers",
    "no programs of the machine: an interpreter with the usual text tools, awk, sed, grep, jq, yq, sort, tar",
    "no links",
    "no background processes: each stage of a pipe ends before the next begins",
  ],
};

export function createVirtual(limits: SandboxLimits): Provider {
  return {
    description: DESCRIPTION,
    async open(folders) {
      // One worker waits for the next command; parallel commands get workers of their own, so that each can be
      // killed alone.
      let spare: Worker | undefined;
      let isClosed = false;
      const start = () => {
        const worker = startWorker(folders, limits);
        // One that ends while it waits must not get the next command.
        worker.once("exit", () => {
          if (spare === worker) spare = undefined;
        });
        return worker;
      };
      return {
        async execute(command) {
          if (command.signal.aborted) return stopped(EXIT_KILLED, "");
          const worker = spare ?? start();
          spare = undefined;
          worker.ref();
          const result = await runIn(worker, command);
          if (result.isReusable && spare === undefined && !isClosed) {
            worker.unref();
            spare = worker;
          } else {
            await worker.terminate();
          }
          return result.answer;
        },
        async close() {
          isClosed = true;
          await spare?.terminate();
        },
      };
    },
    close() {},
  };
}

function startWorker(folders: SandboxFolders, limits: SandboxLimits): Worker {
  const workerData: VirtualWorkerData = { folders, limits };
  const worker = new Worker(new URL("./virtual-worker.ts", import.meta.url), {
    workerData,
    // Nothing of the server's: no environment, no arguments, no way to its standard output. What the worker writes
    // there is never read, because reading would keep the process alive for a worker that waits.
    env: {},
    argv: [],
    execArgv: [],
    stdout: true,
    stderr: true,
    resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
  });
  // A failure that comes after the answer belongs to no command; unheard, it would end the process.
  worker.on("error", () => {});
  return worker;
}

interface Run {
  readonly answer: ExecuteResult;
  readonly isReusable: boolean;
}

async function runIn(worker: Worker, command: Command): Promise<Run> {
  const { promise, resolve, reject } = Promise.withResolvers<Run>();
  const onReply = (reply: VirtualReply) =>
    resolve({ answer: { ...reply, timed_out: false }, isReusable: true });
  const onError = (error: unknown) => {
    if (isOutOfMemory(error)) {
      const output = `The command needed more memory than the sandbox has (${MAX_HEAP_MB} MB) and was ended.`;
      resolve({ answer: stopped(EXIT_KILLED, output), isReusable: false });
      return;
    }
    reject(
      new AppError("sandbox_unavailable", "The sandbox failed while running the command.", { cause: error }),
    );
  };
  const onAbort = () => resolve({ answer: stopped(EXIT_KILLED, ""), isReusable: false });
  const onTimeout = () =>
    resolve({ answer: { ...stopped(EXIT_TIMED_OUT, ""), timed_out: true }, isReusable: false });
  const onExit = () => onError(new Error("the worker ended"));

  const timer = setTimeout(onTimeout, command.timeoutMs);
  worker.on("message", onReply).on("error", onError).on("exit", onExit);
  command.signal.addEventListener("abort", onAbort, { once: true });
  const request: VirtualRequest = {
    command: command.command,
    stdin: command.stdin,
    maxOutputChars: command.maxOutputChars,
  };
  worker.postMessage(request);
  try {
    return await promise;
  } catch (error) {
    await worker.terminate();
    throw error;
  } finally {
    clearTimeout(timer);
    command.signal.removeEventListener("abort", onAbort);
    worker.off("message", onReply).off("error", onError).off("exit", onExit);
  }
}

function stopped(exit_code: number, output: string): ExecuteResult {
  return { exit_code, output, truncated: false, timed_out: false };
}

function isOutOfMemory(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
}
