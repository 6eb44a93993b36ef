// The name under which a worker holds leases: tells whether the worker's process still lives, to whoever is on the
// same machine. Only a shortcut, for a start after a crash; otherwise the lease decides.
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** `host:pid:start of the process:random part`. In a container the host is the container. */
export const createOwner = (): string =>
  [machine(), process.pid, startOf(process.pid) ?? "", randomUUID()].join(":");

/** Whether the owner was a process of this machine that has ended. A pid alone proves nothing: it is given again. */
export function isGone(owner: string): boolean {
  const [host, pid, start] = owner.split(":");
  if (host !== machine() || !(Number(pid) > 0)) return false;
  return !isAlive(Number(pid)) || (start !== "" && start !== startOf(Number(pid)));
}

const machine = () => hostname().replaceAll(":", "-");

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // Another user's process lives as well.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}

/** Clock ticks from boot to the start of the process (proc(5), stat, field 22); undefined where there is no /proc. */
function startOf(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The second field, the program's name in parentheses, may hold anything.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
