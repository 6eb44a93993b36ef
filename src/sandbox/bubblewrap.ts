// Runs commands in bubblewrap: kernel namespaces in which the virtual paths are real mounts, without network,
// without the server's environment, files or processes. Linux only.
import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { stat } from "node:fs/promises";
import { setTimeout } from "node:timers/promises";
import { AppError } from "../errors.ts";
import {
  dropToUser,
  GROUP,
  limitedShell,
  PASSWD,
  PRIVILEGED,
  sandboxArguments,
  UNPRIVILEGED,
} from "./bubblewrap-arguments.ts";
import { createOutputPipes } from "./output-pipes.ts";
import { createPathMask } from "./path-mask.ts";
import type { Provider, ProviderSandbox, SandboxFolders, SandboxLimits } from "./provider.ts";
import { runProcess } from "./run-process.ts";

const BWRAP = ["/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap", "/run/current-system/sw/bin/bwrap"];
const SETPRIV = ["/usr/bin/setpriv", "/bin/setpriv", "/usr/local/bin/setpriv"];

const EXIT_GRACE_MS = 1_000;

export interface BubblewrapOptions {
  readonly limits: SandboxLimits;
  /** Host folders that no command may see, wherever they lie. */
  readonly hidden: readonly string[];
}

export function createBubblewrap({ limits, hidden }: BubblewrapOptions): Provider {
  const bwrap = BWRAP.find((path) => existsSync(path));
  if (bwrap === undefined) throw unavailable("bwrap is not installed");
  const pipes = createOutputPipes();
  const isRoot = process.getuid?.() === 0;
  const setpriv = SETPRIV.find((path) => existsSync(path));
  if (isRoot && setpriv === undefined) throw unavailable("the server is root and setpriv is not installed");

  /** Commands run as whoever owns the workspace, so that they and the server can both work on its files. */
  async function wrapperFor(folders: SandboxFolders): Promise<{ namespaces: string[]; before: string[] }> {
    if (!isRoot || setpriv === undefined || bwrap === undefined)
      return { namespaces: UNPRIVILEGED, before: [] };
    const { uid, gid } = await stat(folders.workspace);
    if (uid === 0 || gid === 0)
      throw unavailable("the workspace belongs to root, so commands would run as root");
    return { namespaces: PRIVILEGED, before: dropToUser({ bwrap, setpriv }, uid, gid) };
  }

  return {
    description: { name: "bubblewrap", lacks: ["no network"] },
    async open(folders): Promise<ProviderSandbox> {
      const { namespaces, before } = await wrapperFor(folders);
      const mask = createPathMask(folders);
      const prepared = [...namespaces, ...sandboxArguments(folders, hidden)];
      return {
        async execute(command) {
          const inner = [...before, ...limitedShell(command, limits)];
          const { stderr, ...result } = await runProcess(
            {
              file: bwrap,
              args: ["--args", "3", "--", ...inner],
              // The process list inside shows bubblewrap as process 1, with the environment it was started with.
              env: {},
              inputs: [prepared.map((argument) => `${argument}\0`).join(""), PASSWD, GROUP],
              pipes,
              mask,
              kill: killNamespace,
            },
            command,
          );
          const complaint = stderr.match(/^\S*(?:bwrap|setpriv): (.*)/m)?.[1];
          if (complaint !== undefined) throw unavailable(shown(complaint), new Error(stderr));
          return result;
        },
        async close() {},
      };
    },
    close: () => pipes.close(),
  };
}

/**
 * Kills process 1 of the namespace, with which the kernel kills every other one, whatever session or parent it has
 * by now. `--die-with-parent` alone does not do: while bubblewrap sets up its mounts, killing it leaves its child
 * behind, which then runs the command all the same (141 of 240 times, when killed within 25 ms).
 */
async function killNamespace(child: ChildProcess, report: Promise<string>): Promise<void> {
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null;
  if (hasEnded()) return;
  const processOne = Number((await report).match(/"child-pid":\s*(\d+)/)?.[1]);
  if (!hasEnded() && processOne > 1) {
    // While bubblewrap lives, the number of its child is not given to another process. It ends with its child, and
    // should do so by itself: otherwise the child is left to process 1 of the machine, which may never bury it.
    kill(processOne);
    await Promise.race([once(child, "exit"), setTimeout(EXIT_GRACE_MS, undefined, { ref: false })]);
  }
  if (!hasEnded()) child.kill("SIGKILL");
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

// What names a host path is for the log only.
function shown(complaint: string): string {
  return complaint.includes("/") ? "it failed to start" : complaint;
}

function unavailable(reason: string, cause?: unknown): AppError {
  return new AppError("sandbox_unavailable", `bubblewrap cannot be used here: ${reason}.`, { cause });
}
