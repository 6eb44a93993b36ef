// The host folders of a sandbox. Three are the thread's own; the fourth is the scratch folder that commands see as
// /tmp: DATA_DIR/threads/<thread_id>/sandbox-tmp, made with the sandbox and removed with it.
import * as fs from "node:fs/promises";
import { join } from "node:path";
import type { ThreadFiles } from "../kit/thread-files.ts";
import type { SandboxFolders } from "./provider.ts";

const SCRATCH = "sandbox-tmp";
/** A scratch folder in use is touched by every command, and no sandbox stays idle that long. */
const STALE_MS = 24 * 60 * 60 * 1000;

/** Makes the thread's folders where they are missing, and its scratch folder anew. */
export async function prepareFolders(
  dataDir: string,
  files: ThreadFiles,
  threadId: string,
): Promise<SandboxFolders> {
  await files.ensure(threadId);
  const root = await fs.realpath(dataDir);
  const paths = files.paths(threadId);
  const workspace = join(root, paths.workspace_path ?? "");
  const scratch = join(root, "threads", threadId, SCRATCH);
  await removeScratch(scratch);
  await fs.mkdir(scratch, { mode: 0o700 });
  if (process.getuid?.() === 0) {
    const { uid, gid } = await fs.stat(workspace);
    await fs.chown(scratch, uid, gid);
  }
  return {
    threadId,
    dataDir: root,
    workspace,
    uploads: join(root, paths.uploads_path ?? ""),
    outputs: join(root, paths.outputs_path ?? ""),
    scratch,
  };
}

/** Tells other servers on the same DATA_DIR that the folder is in use. */
export async function touchScratch(path: string, now: Date): Promise<void> {
  await fs.utimes(path, now, now);
}

/** Nothing may be running in it any more: links that move while it is removed would be followed. */
export async function removeScratch(path: string): Promise<void> {
  try {
    await fs.rm(path, { recursive: true, force: true });
  } catch {
    // A command may have closed folders to their owner.
    await openAll(path);
    await fs.rm(path, { recursive: true, force: true });
  }
}

/** Removes what servers that are gone have left. */
export async function sweepScratch(dataDir: string, now: number): Promise<void> {
  const threads = await fs.readdir(join(dataDir, "threads")).catch(() => []);
  for (const thread of threads) {
    const path = join(dataDir, "threads", thread, SCRATCH);
    const stat = await fs.lstat(path).catch(() => undefined);
    if (stat !== undefined && now - stat.mtimeMs > STALE_MS) await removeScratch(path);
  }
}

async function openAll(path: string): Promise<void> {
  await fs.chmod(path, 0o700);
  for (const entry of await fs.readdir(path, { withFileTypes: true })) {
    if (entry.isDirectory()) await openAll(join(path, entry.name));
  }
}
