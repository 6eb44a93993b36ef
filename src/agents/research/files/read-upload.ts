// Reads one uploaded file in a process of its own, with bounds on its size, its time and its memory: a bomb, an endless
// loop or a crash of a library ends that process, and the file is one that could not be read.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { type FileReport, type ReadLimits, readAnswerSchema, UnreadableFile } from "./file-report.ts";

const PROCESS = fileURLToPath(new URL("./read-process.ts", import.meta.url));
/** Code, with its packages: the one thing that the process may read. */
const ROOT = fileURLToPath(new URL("../../../../", import.meta.url));
const MAX_ANSWER_BYTES = 128 * 1024 ** 2;
/** Data, not address space: JavaScript reserves far more addresses than it uses. Where a shell cannot bound it, the time still does. */
const BOUNDED =
  'ulimit -d "$1" 2>/dev/null; ulimit -t "$2" 2>/dev/null; ulimit -c 0 2>/dev/null; shift 2; exec "$@"';

interface Upload {
  readonly filename: string;
  readonly bytes: Buffer;
}

/**
 * @throws UnreadableFile with a reason for the file's owner
 * @throws the signal's reason when it aborts
 */
export async function readUpload(
  { filename, bytes }: Upload,
  limits: ReadLimits,
  signal?: AbortSignal,
): Promise<FileReport> {
  if (bytes.length > limits.maxBytes) {
    throw new UnreadableFile(`It is larger than ${Math.floor(limits.maxBytes / 1024 ** 2)} MiB.`);
  }
  signal?.throwIfAborted();
  const deadline = AbortSignal.timeout(limits.seconds * 1000);
  const child = start(filename, limits);
  const stop = () => child.kill("SIGKILL");
  const stopped = signal ? AbortSignal.any([deadline, signal]) : deadline;
  stopped.addEventListener("abort", stop, { once: true });
  try {
    const output = collect(child, stop);
    // It may end before it has read everything.
    child.stdin?.on("error", () => undefined).end(bytes);
    const [code, killedBy] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
    signal?.throwIfAborted();
    // The bound on processor time ends it by a signal, too.
    if (deadline.aborted || killedBy === "SIGXCPU" || killedBy === "SIGKILL") throw tooSlow(limits);
    return toReport(code, output(), limits);
  } finally {
    stopped.removeEventListener("abort", stop);
    stop();
  }
}

function start(filename: string, limits: ReadLimits): ChildProcess {
  const heapMb = Math.floor(limits.memoryMb / 2);
  const node = [process.execPath, `--max-old-space-size=${heapMb}`, "--disable-warning=ExperimentalWarning"];
  const rights = ["--permission", `--allow-fs-read=${ROOT}*`];
  const bounds = [limits.memoryMb * 1024, limits.seconds].map(String);
  const command = [...node, ...rights, PROCESS, filename, JSON.stringify(limits)];
  return spawn("/bin/sh", ["-c", BOUNDED, "sh", ...bounds, ...command], {
    env: {},
    cwd: "/",
    stdio: ["pipe", "pipe", "ignore"],
  });
}

function collect(child: ChildProcess, stop: () => void): () => string {
  const chunks: Buffer[] = [];
  let size = 0;
  child.stdout?.on("data", (chunk: Buffer) => {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) stop();
    else chunks.push(chunk);
  });
  return () => Buffer.concat(chunks).toString();
}

function toReport(code: number | null, output: string, limits: ReadLimits): FileReport {
  // It answers or it dies; what it says while dying is not for the file's owner.
  if (code !== 0) {
    throw new UnreadableFile(
      `Reading it broke off: it may be damaged, or need more than ${limits.memoryMb} MiB of memory.`,
    );
  }
  const answer = readAnswerSchema.parse(JSON.parse(output));
  if ("reason" in answer) throw new UnreadableFile(answer.reason);
  return answer.report;
}

const tooSlow = ({ seconds }: ReadLimits) =>
  new UnreadableFile(`It could not be read within ${seconds} seconds.`);
