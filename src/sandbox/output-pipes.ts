// Real pipes for what a command writes. Node gives a child a socket pair, and opening a socket by its name fails: no
// `echo x > /dev/stderr`, no `tee /dev/stdout`. Node cannot make a pipe, but can open a FIFO, which is one.
import { execFile } from "node:child_process";
import { closeSync, constants, existsSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface OutputPipe {
  /** Ends when nobody can write any more. */
  readonly reader: Socket;
  /** For the child; to be closed here once the child has it. */
  readonly writer: number;
}

export interface OutputPipes {
  /** Undefined where there are no FIFOs: a socket pair then has to do. */
  open(): Promise<OutputPipe | undefined>;
  close(): void;
}

const MKFIFO = ["/usr/bin/mkfifo", "/bin/mkfifo"];
/** Made by one process, held open under no name. */
const BATCH = 8;

export function createOutputPipes(): OutputPipes {
  const mkfifo = MKFIFO.find((path) => existsSync(path));
  const ready: { read: number; write: number }[] = [];
  let filling: Promise<void> | undefined;

  async function fill(program: string): Promise<void> {
    const folder = await mkdtemp(join(tmpdir(), "heddle-pipes-"));
    try {
      const paths = Array.from({ length: BATCH }, (_, index) => join(folder, String(index)));
      // A command runs as another user than the server, and opens the pipe anew by /dev/stdout.
      await promisify(execFile)(program, ["-m", "666", ...paths], { env: {} });
      for (const path of paths) {
        // The reader first, without waiting for a writer: then the writer finds a reader and does not wait either.
        const read = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
        ready.push({ read, write: openSync(path, constants.O_WRONLY) });
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }

  return {
    async open() {
      while (mkfifo !== undefined && ready.length === 0) {
        filling ??= fill(mkfifo).finally(() => {
          filling = undefined;
        });
        try {
          await filling;
        } catch {
          return undefined;
        }
      }
      const pipe = ready.pop();
      if (pipe === undefined) return undefined;
      return { reader: new Socket({ fd: pipe.read, readable: true, writable: false }), writer: pipe.write };
    },
    close() {
      for (const { read, write } of ready.splice(0)) {
        closeSync(read);
        closeSync(write);
      }
    },
  };
}

/** Gives the child's end away: from now on only the child and its children hold it. */
export function closeWriter(pipe: OutputPipe | undefined): void {
  if (pipe !== undefined) closeSync(pipe.writer);
}
