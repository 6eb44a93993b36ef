// A data directory with files and sandboxes on it, for tests that run real commands.
import { randomUUID } from "node:crypto";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createThreadFiles } from "../../src/files/thread-files.ts";
import type { Sandboxes, ThreadFiles } from "../../src/kit/index.ts";
import { createSandboxes, type SandboxesOptions } from "../../src/sandbox/sandboxes.ts";

export interface SandboxThread {
  readonly dataDir: string;
  readonly files: ThreadFiles;
  readonly sandboxes: Sandboxes;
  readonly threadId: string;
  close(): Promise<void>;
}

export async function openSandboxThread(
  options: Partial<SandboxesOptions> & Pick<SandboxesOptions, "provider">,
): Promise<SandboxThread> {
  const dataDir = await mkdtemp(join(tmpdir(), "heddle-sandbox-"));
  const files = createThreadFiles({ dataDir });
  const sandboxes = createSandboxes({ dataDir, files, ...options });
  return {
    dataDir,
    files,
    sandboxes,
    threadId: randomUUID(),
    async close() {
      await sandboxes.close();
      await rm(dataDir, { recursive: true, force: true });
    },
  };
}

/** Why the provider cannot be tested here, or undefined. */
export async function whyUnavailable(provider: SandboxesOptions["provider"]): Promise<string | undefined> {
  const thread = await openSandboxThread({ provider });
  try {
    await thread.sandboxes.describe();
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  } finally {
    await thread.close();
  }
}

/** Command lines of all processes of this machine that contain `text`; zombies have none. */
export async function processesWith(text: string): Promise<string[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const lines = await Promise.all(
    pids.map((pid) => readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => "")),
  );
  return lines.filter((line) => line.includes(text));
}
