// Decides which provider runs the commands, by trying it: a sandbox that does not work must be found at start, and
// must never be replaced by less than what was asked for.
import { randomUUID } from "node:crypto";
import { AppError } from "../errors.ts";
import type { ThreadFiles } from "../kit/thread-files.ts";
import { createBubblewrap } from "./bubblewrap.ts";
import { createLocal } from "./local.ts";
import type { Provider, SandboxLimits } from "./provider.ts";
import { prepareFolders } from "./sandbox-folders.ts";
import { createVirtual } from "./virtual.ts";

export type ProviderName = "auto" | "bubblewrap" | "virtual" | "local";

interface ChoiceOptions {
  readonly dataDir: string;
  readonly files: ThreadFiles;
  readonly limits: SandboxLimits;
  readonly hidden: readonly string[];
}

/** What people expect to find beside a shell; what a probe does not find is told. */
const EXPECTED = ["python3", "node", "git", "jq", "awk", "sed", "grep", "tar", "unzip", "file"];
const PROBE_TIMEOUT_MS = 10_000;

export async function chooseProvider(name: ProviderName, options: ChoiceOptions): Promise<Provider> {
  if (name === "local") return createLocal();
  if (name === "virtual") return createVirtual(options.limits);
  try {
    return await probedBubblewrap(options);
  } catch (error) {
    if (name === "bubblewrap") {
      const reason = reasonOf(error);
      const message = `${reason} Install bubblewrap and allow user namespaces, or set SANDBOX=virtual.`;
      throw new AppError("sandbox_unavailable", message, { cause: error });
    }
    const virtual = createVirtual(options.limits);
    return { ...virtual, description: { ...virtual.description, reason: reasonOf(error) } };
  }
}

/** Runs a command on the folders of a thread that does not exist, exactly as it will run for those that do. */
async function probedBubblewrap(options: ChoiceOptions): Promise<Provider> {
  const { files, limits } = options;
  const hidden = [...options.hidden, options.dataDir];
  const bubblewrap = createBubblewrap({ limits, hidden });
  const threadId = randomUUID();
  try {
    const folders = await prepareFolders(options.dataDir, files, threadId);
    const sandbox = await bubblewrap.open(folders);
    const { output, exit_code } = await sandbox.execute({
      command: `touch probe && for name in ${EXPECTED.join(" ")}; do command -v $name >/dev/null || echo "no $name"; done`,
      stdin: "",
      timeoutMs: PROBE_TIMEOUT_MS,
      maxOutputChars: 2_000,
      signal: new AbortController().signal,
    });
    if (exit_code !== 0 || (await files.stat(threadId, "/mnt/user-data/workspace/probe")) === undefined) {
      throw new AppError("sandbox_unavailable", "bubblewrap cannot be used here: a trial command failed.", {
        cause: new Error(output),
      });
    }
    const lacks = [...bubblewrap.description.lacks, ...output.split("\n").filter((line) => line !== "")];
    return { ...bubblewrap, description: { ...bubblewrap.description, lacks } };
  } catch (error) {
    bubblewrap.close();
    throw error;
  } finally {
    await files.removeThread(threadId);
  }
}

function reasonOf(error: unknown): string {
  const message = error instanceof AppError ? error.message : "the trial failed.";
  return message.startsWith("bubblewrap ") ? message : `bubblewrap cannot be used here: ${message}`;
}
