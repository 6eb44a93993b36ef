// What postmaster.pid says, and whether the process it names really is the postmaster of that folder. A pid alone
// proves nothing: after a reboot or in a container another program may have it.
import { execFileSync } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import path from "node:path";

interface Postmaster {
  readonly pid: number;
  readonly port: number;
}

/** The postmaster that the folder's pid file names (PostgreSQL's `pidfile.h`: pid on line 1, port on line 4). */
export function readPostmaster(folder: string): Postmaster | undefined {
  try {
    const lines = readFileSync(path.join(folder, "postmaster.pid"), "utf8").split("\n");
    const [pid, port] = [Number(lines[0]), Number(lines[3])];
    return pid > 0 ? { pid, port } : undefined;
  } catch {
    return undefined;
  }
}

/** Whether `pid` runs now, is a PostgreSQL, and was started on this folder. */
export function isPostmaster(pid: number, folder: string): boolean {
  const command = commandLine(pid);
  return command !== undefined && /postgres/.test(command) && command.includes(folder);
}

/** Removes a pid file whose process is gone or is another program. Does nothing when the file has changed since. */
export function removeStalePid(folder: string, pid: number): void {
  if (readPostmaster(folder)?.pid === pid) rmSync(path.join(folder, "postmaster.pid"), { force: true });
}

function commandLine(pid: number): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim() || undefined;
  } catch {
    if (process.platform === "linux") return undefined;
  }
  try {
    return (
      execFileSync("ps", ["-o", "command=", "-p", String(pid)], { encoding: "utf8" }).trim() || undefined
    );
  } catch {
    return undefined;
  }
}
