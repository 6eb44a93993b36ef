// Runs one host process to its end and captures what it writes: the part that the providers with real processes
// share. How everything it started is killed, and what runs around the command, is theirs.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:os";
import type { Readable, Writable } from "node:stream";
import { AppError } from "../errors.ts";
import type { ExecuteResult } from "../kit/sandbox.ts";
import { captureOutput } from "./output.ts";
import { closeWriter, type OutputPipe, type OutputPipes } from "./output-pipes.ts";
import type { PathMask } from "./path-mask.ts";
import { type Command, EXIT_KILLED, EXIT_TIMED_OUT } from "./provider.ts";

export interface ProcessSpec {
  readonly file: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Its own session and process group. */
  readonly detached?: boolean;
  /** Texts to read from descriptors 3, 4, …. */
  readonly inputs?: readonly string[];
  readonly pipes: OutputPipes;
  readonly mask: PathMask;
  /**
   * Kills the process and all it started; also called when it has ended by itself. `report` is the first that it
   * wrote to the descriptor after those of `inputs`, "" if it ended before.
   */
  kill(child: ChildProcess, report: Promise<string>): Promise<void>;
}

export interface ProcessEnd extends ExecuteResult {
  /** What the process itself wrote to standard error, as opposed to the command: for diagnosis only. */
  readonly stderr: string;
}

/** Longer than that, a killed process is stuck in the kernel or has handed its output to a stranger. */
const CLOSE_GRACE_MS = 2_000;
const MAX_STDERR_BYTES = 4096;
/** Linux takes no longer argument. */
const MAX_COMMAND_BYTES = 128 * 1024 - 1;

export async function runProcess(spec: ProcessSpec, command: Command): Promise<ProcessEnd> {
  if (Buffer.byteLength(command.command) > MAX_COMMAND_BYTES) {
    const message = "The command is longer than 128 KB. Write it to a file first and run that.";
    throw new AppError("invalid_request", message);
  }
  const pipe = await spec.pipes.open();
  if (command.signal.aborted) {
    closeWriter(pipe);
    pipe?.reader.destroy();
    return { exit_code: EXIT_KILLED, output: "", truncated: false, timed_out: false, stderr: "" };
  }
  const inputs = spec.inputs ?? [];
  const child = start(spec, command, pipe);
  const capture = captureOutput({ maxChars: command.maxOutputChars, mask: spec.mask });
  const output = pipe?.reader ?? child.stdout;
  output?.on("data", (chunk: Buffer) => capture.add(chunk));
  let stderr = "";
  child.stderr?.on("data", (chunk: Buffer) => {
    if (stderr.length < MAX_STDERR_BYTES) stderr += chunk.toString();
  });
  feed(child.stdin, command.stdin);
  for (const [index, text] of inputs.entries()) feed(child.stdio[index + 3], text);
  const report = firstOf(child.stdio[inputs.length + 3]);

  let stopped: number | undefined;
  const stop = (exitCode: number) => {
    stopped ??= exitCode;
    void spec.kill(child, report);
  };
  const onAbort = () => stop(EXIT_KILLED);
  const timer = setTimeout(() => stop(EXIT_TIMED_OUT), command.timeoutMs);
  command.signal.addEventListener("abort", onAbort, { once: true });
  try {
    const closed = Promise.all([once(child, "close"), output === null ? undefined : once(output, "close")]);
    // A failure to start is told by `exit` below.
    const settled = closed.catch(() => undefined);
    const [code, signal] = (await once(child, "exit").catch(refuse)) as [
      number | null,
      NodeJS.Signals | null,
    ];
    // What the command left in the background ends with it: nothing may outlive a call unseen.
    await spec.kill(child, report);
    await withinGrace(settled);
    const timed_out = stopped === EXIT_TIMED_OUT;
    return { exit_code: stopped ?? toExitCode(code, signal), ...capture.finish(), timed_out, stderr };
  } finally {
    clearTimeout(timer);
    command.signal.removeEventListener("abort", onAbort);
    for (const stream of [output, ...child.stdio]) stream?.destroy();
  }
}

function start(spec: ProcessSpec, command: Command, pipe: OutputPipe | undefined): ChildProcess {
  try {
    return spawn(spec.file, spec.args, {
      env: spec.env,
      cwd: spec.cwd,
      detached: spec.detached,
      stdio: [
        command.stdin === "" ? "ignore" : "pipe",
        pipe?.writer ?? "pipe",
        "pipe",
        ...[...(spec.inputs ?? []), "report"].map(() => "pipe" as const),
      ],
    });
  } catch (error) {
    pipe?.reader.destroy();
    return refuse(error);
  } finally {
    closeWriter(pipe);
  }
}

function feed(stream: Readable | Writable | null | undefined, text: string): void {
  if (stream === null || stream === undefined || !("end" in stream)) return;
  // A command need not read its input; writing to one that has ended is no failure.
  stream.on("error", () => {});
  stream.end(text);
}

async function firstOf(stream: Readable | Writable | null | undefined): Promise<string> {
  const { promise, resolve } = Promise.withResolvers<string>();
  stream?.on("data", (chunk: Buffer) => resolve(chunk.toString()));
  stream?.on("close", () => resolve(""));
  stream?.on("error", () => resolve(""));
  return promise;
}

function refuse(error: unknown): never {
  throw new AppError("sandbox_unavailable", "The sandbox could not be started.", { cause: error });
}

async function withinGrace(work: Promise<unknown>): Promise<void> {
  const grace = Promise.withResolvers<void>();
  const timer = setTimeout(grace.resolve, CLOSE_GRACE_MS);
  await Promise.race([work, grace.promise]).finally(() => clearTimeout(timer));
}

// As a shell reports a child that died of a signal.
function toExitCode(code: number | null, signal: NodeJS.Signals | null): number {
  return code ?? 128 + (signal === null ? 0 : constants.signals[signal]);
}
