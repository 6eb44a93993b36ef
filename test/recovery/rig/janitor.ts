// Ends what the rig started when the rig itself is gone, however it ended. The rig writes "+pid start" and "-pid" lines
// and the folder to remove; the end of the pipe is the sign. The start time tells a process from a later one with the
// same pid.
import { readFileSync, rmSync } from "node:fs";
import { createInterface } from "node:readline";

const alive = new Map<number, string>();
const folders = new Set<string>();
for await (const line of createInterface({ input: process.stdin })) {
  const [what = "", start = ""] = line.slice(1).split(" ");
  if (line.startsWith("+")) alive.set(Number(what), start);
  else if (line.startsWith("-")) alive.delete(Number(what));
  else if (line.startsWith("/")) folders.add(line);
}
for (const [pid, start] of alive) {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    if (stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] === start) process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}
// PostgreSQL's children end with their postmaster, a moment later.
for (const folder of folders)
  rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 100 });
