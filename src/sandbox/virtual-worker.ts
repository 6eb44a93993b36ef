// The worker thread of the virtual sandbox: one just-bash interpreter over the thread's folders, one command at a
// time. Has no environment and no network; whoever wants it to stop terminates the thread.
import { parentPort, workerData } from "node:worker_threads";
import { Bash, type CommandName, getCommandNames, MountableFs, ReadWriteFs, stdoutAsBytes } from "just-bash";
import { captureOutput } from "./output.ts";
import { createPathMask } from "./path-mask.ts";
import type { SandboxFolders, SandboxLimits } from "./provider.ts";

export interface VirtualWorkerData {
  readonly folders: SandboxFolders;
  readonly limits: SandboxLimits;
}

export interface VirtualRequest {
  readonly command: string;
  readonly stdin: string;
  readonly maxOutputChars: number;
}

export interface VirtualReply {
  readonly exit_code: number;
  readonly output: string;
  readonly truncated: boolean;
}

const HOME = "/mnt/user-data/workspace";
/** Interpreters of languages: other sandboxes inside this one, with limits of their own. */
const LEFT_OUT = ["sqlite3", "python", "python3", "js-exec"];
/** Loops are bounded by the time-out, which is the caller's to choose; just-bash's defaults stop at 100,000. */
const UNBOUNDED = Number.MAX_SAFE_INTEGER;
const MEGABYTE = 1024 * 1024;

const { folders, limits } = workerData as VirtualWorkerData;
const mask = createPathMask(folders);
const bash = createBash();

parentPort?.on("message", (request: VirtualRequest) => {
  void run(request).then((reply) => parentPort?.postMessage(reply));
});

async function run({ command, stdin, maxOutputChars }: VirtualRequest): Promise<VirtualReply> {
  const capture = captureOutput({ maxChars: maxOutputChars, mask });
  let exit_code: number;
  try {
    // The prefix keeps the two streams in the order of writing.
    const result = await bash.exec(`exec 2>&1; ${command}`, { stdin, rawScript: true });
    exit_code = result.exitCode;
    // A string with one character per byte, which its type hides.
    capture.add(Buffer.from(asNotFound(String(stdoutAsBytes(result))), "latin1"));
    capture.add(Buffer.from(asNotFound(result.stderr)));
  } catch (error) {
    // Some refusals of the file system (a redirection through a link) come as exceptions.
    exit_code = 1;
    capture.add(Buffer.from(`bash: ${error instanceof Error ? error.message : String(error)}\n`));
  }
  return { exit_code, ...capture.finish() };
}

/** just-bash tells the programmer how to add the commands that are left out here; the model needs the plain fact. */
function asNotFound(text: string): string {
  return text.replaceAll(
    /command not available in browser environments\. Exclude '[\w-]+' from your commands or use the Node\.js bundle\./g,
    "command not found",
  );
}

function createBash(): Bash {
  const commands = getCommandNames().filter((name) => !LEFT_OUT.includes(name)) as CommandName[];
  // The usual layout (/bin, /dev, /proc) in memory, and the real folders over it. ReadWriteFs neither makes nor
  // follows links.
  const fs = new MountableFs({ base: new Bash({ commands, cwd: HOME }).fs });
  const mounts = {
    "/mnt/user-data/workspace": folders.workspace,
    "/mnt/user-data/uploads": folders.uploads,
    "/mnt/user-data/outputs": folders.outputs,
    "/tmp": folders.scratch,
  };
  for (const [path, root] of Object.entries(mounts)) {
    fs.mount(
      path,
      new ReadWriteFs({ root, maxFileReadSize: 256 * MEGABYTE, maxCopySize: limits.maxFileBytes }),
    );
  }
  return new Bash({
    fs,
    commands,
    cwd: HOME,
    env: { HOME, LANG: "C.UTF-8" },
    processInfo: { pid: 2, ppid: 1, uid: 1000, gid: 1000 },
    executionLimits: {
      maxCommandCount: UNBOUNDED,
      maxLoopIterations: UNBOUNDED,
      maxAwkIterations: UNBOUNDED,
      maxSedIterations: UNBOUNDED,
      maxJqIterations: UNBOUNDED,
      maxWorkUnits: UNBOUNDED,
      maxExecutionTimeMs: UNBOUNDED,
      // Strings and buffers lie outside the heap that the worker's own limit bounds.
      maxOutputSize: 64 * MEGABYTE,
      maxLiveBytes: 256 * MEGABYTE,
      maxFileSystemBytes: 64 * MEGABYTE,
    },
  });
}
