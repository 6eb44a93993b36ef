// What a process and everything that it started have used, from /proc: the benchmark runs on Linux.
import { readdirSync, readFileSync } from "node:fs";

/** Ticks of a second in /proc, on every architecture that Node runs on (USER_HZ). */
const TICKS = 100;
const PAGE_BYTES = 4096;

export interface Usage {
  /** Milliseconds of processor, user and system, also of children that have ended. */
  readonly cpuMs: number;
  readonly rssBytes: number;
}

interface Row {
  readonly pid: number;
  readonly parent: number;
  readonly ticks: number;
  readonly pages: number;
}

function readRows(): Row[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      const stat = readStat(name);
      if (stat === undefined) return [];
      // proc_pid_stat(5), from the third field on: the second is a name that may hold anything.
      const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
      const at = (field: number) => Number(fields[field - 3]);
      const ticks = at(14) + at(15) + at(16) + at(17);
      return [{ pid: Number(name), parent: at(4), ticks, pages: at(24) }];
    });
}

function readStat(pid: string): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, "utf8");
  } catch {
    // It has ended since the folder was read.
    return undefined;
  }
}

export const parentOf = (pid: number) => readRows().find((row) => row.pid === pid)?.parent;

export function usageOf(root: number): Usage {
  const rows = readRows();
  const tree = rows.filter((row) => row.pid === root);
  for (const { pid } of tree) tree.push(...rows.filter((row) => row.parent === pid));
  return {
    cpuMs: (tree.reduce((sum, row) => sum + row.ticks, 0) * 1_000) / TICKS,
    rssBytes: tree.reduce((sum, row) => sum + row.pages, 0) * PAGE_BYTES,
  };
}
