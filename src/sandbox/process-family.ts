// Finds and kills all that a host process started, also what has left its session, its group and its parent. There
// is no sure way to that without namespaces; this one misses what also clears its environment.
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";

/** An environment variable that each command's processes inherit, with a value of its own. */
export const MARK = "HEDDLE_COMMAND";
const MAX_ROUNDS = 20;
/** Looks that find nobody before the family counts as dead, and the pause between looks. */
const EMPTY_ROUNDS = 2;
const PAUSE_MS = 5;

/** Kills the process group of `leader`, and whoever carries the mark, until none is left. */
export async function killFamily(leader: number, mark: string): Promise<void> {
  const descendants = process.platform === "linux" ? [] : await descendantsOf(leader);
  kill(-leader);
  for (const pid of descendants) kill(pid);
  if (process.platform !== "linux") return;
  let empty = 0;
  for (let round = 0; round < MAX_ROUNDS && empty < EMPTY_ROUNDS; round += 1) {
    // More than once: a process may fork between being seen and being killed, and one that is just starting a
    // program shows no environment.
    const marked = await markedWith(mark);
    for (const pid of marked) kill(pid);
    empty = marked.length === 0 ? empty + 1 : 0;
    if (empty < EMPTY_ROUNDS) await setTimeout(PAUSE_MS);
  }
}

async function markedWith(mark: string): Promise<number[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const wanted = `${MARK}=${mark}`;
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Other users' processes cannot be read, and are not ours. A zombie's environment is empty.
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(wanted) ? [Number(pid)] : [];
    }),
  );
  return found.flat();
}

// Elsewhere: the tree as it is now, before its upper part is killed and the lower one orphaned.
async function descendantsOf(leader: number): Promise<number[]> {
  const { stdout } = await promisify(execFile)("ps", ["-axo", "pid=,ppid="]);
  const children = Map.groupBy(
    stdout
      .trim()
      .split("\n")
      .map((line) => line.trim().split(/\s+/).map(Number)),
    ([, parent]) => parent,
  );
  const found: number[] = [];
  for (const queue = [leader]; queue.length > 0; ) {
    for (const [child] of children.get(queue.pop()) ?? []) {
      if (child === undefined) continue;
      found.push(child);
      queue.push(child);
    }
  }
  return found;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}
