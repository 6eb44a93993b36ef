// Runs commands as plain processes of the server's user: no isolation at all. For a developer's own machine, when
// set explicitly.
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { AppError } from "../errors.ts";
import type { SandboxDescription } from "../kit/sandbox.ts";
import { isPlainPath, toHostCommand } from "./local-paths.ts";
import { createOutputPipes } from "./output-pipes.ts";
import { createPathMask } from "./path-mask.ts";
import { killFamily, MARK } from "./process-family.ts";
import type { Provider } from "./provider.ts";
import { runProcess } from "./run-process.ts";

const PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/homebrew/bin";
const SHELL = ["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"];
/** Joins standard error to standard output in the order of writing. */
const JOINED = 'exec 2>&1; exec "$0" -c "$1"';

const DESCRIPTION: SandboxDescription = {
  name: "local",
  lacks: [
    "no isolation: commands see this machine's files, processes and network",
    "no /mnt/user-data inside programs: it is translated in the command's own text and in its output, not in the files it runs",
  ],
  warning: "Commands run on this machine with the rights of the server. Use it only for your own input.",
};

export function createLocal(): Provider {
  const shell = SHELL.find((path) => existsSync(path));
  if (shell === undefined) throw unavailable("no shell was found");
  const pipes = createOutputPipes();
  return {
    description: DESCRIPTION,
    async open(folders) {
      if (!isPlainPath(folders.workspace)) {
        throw unavailable("the path of the data directory has spaces or characters that a shell would read");
      }
      const mask = createPathMask(folders);
      return {
        async execute(command) {
          const mark = randomUUID();
          const translated = toHostCommand(command.command, folders);
          const { stderr: _, ...result } = await runProcess(
            {
              file: shell,
              args: ["-c", JOINED, shell, translated],
              env: { PATH, HOME: folders.workspace, LANG: "C.UTF-8", TMPDIR: folders.scratch, [MARK]: mark },
              cwd: folders.workspace,
              detached: true,
              pipes,
              mask,
              kill: async (child) => {
                if (child.pid !== undefined) await killFamily(child.pid, mark);
              },
            },
            command,
          );
          return result;
        },
        async close() {},
      };
    },
    close: () => pipes.close(),
  };
}

function unavailable(reason: string): AppError {
  return new AppError("sandbox_unavailable", `The local sandbox cannot be used here: ${reason}.`);
}
