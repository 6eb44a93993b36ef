// Keeps the list of the processes that the rig has started. Only they are ever signalled, and they end with the rig
// even when it is killed (janitor.ts).
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";

export interface Custody {
  /** A folder for everything the rig writes; removed at the end. */
  readonly folder: string;
  add(child: ChildProcess): void;
  /**
   * Starts servers two at a time: each takes a core for a second, and on a machine that is starved of time the leases of
   * the others would run out.
   */
  inTurn<T>(start: () => Promise<T>): Promise<T>;
  /** Ends what is left. Returns how many processes there were. */
  close(): Promise<number>;
}

export function createCustody(): Custody {
  const folder = mkdtempSync(path.join(tmpdir(), "heddle-rig-"));
  const janitor = spawn(process.execPath, [path.join(import.meta.dirname, "janitor.ts")], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  const tell = (line: string) => janitor.stdin.write(`${line}\n`);
  tell(folder);
  const children = new Set<ChildProcess>();
  let free = 2;
  const waiting: (() => void)[] = [];
  return {
    folder,
    add(child) {
      const { pid } = child;
      if (pid === undefined) return;
      children.add(child);
      tell(`+${pid} ${startTime(pid)}`);
      child.once("exit", () => {
        children.delete(child);
        tell(`-${pid}`);
      });
    },
    async inTurn(start) {
      if (free === 0) await new Promise<void>((resolve) => waiting.push(resolve));
      else free--;
      try {
        return await start();
      } finally {
        const next = waiting.shift();
        if (next) next();
        else free++;
      }
    },
    async close() {
      const left = [...children];
      for (const child of left) child.kill("SIGKILL");
      await Promise.all(left.map((child) => child.exitCode ?? child.signalCode ?? once(child, "exit")));
      janitor.stdin.end();
      await once(janitor, "exit");
      return left.length;
    },
  };
}

/** Field 22 of /proc/pid/stat: when the process started. */
function startTime(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
  } catch {
    return "";
  }
}
