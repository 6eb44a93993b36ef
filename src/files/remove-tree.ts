// Deletes a whole tree that a command may have shaped: any depth, any names, unreadable folders, links. Links
// are unlinked, never followed, also while somebody swaps them.
import { randomUUID } from "node:crypto";
import type { Directory } from "./directory.ts";
import { errnoOf } from "./file-errors.ts";

/**
 * Removes the directory `name` from `trash`. Subdirectories are first moved up into `trash` under names of ours,
 * so that the depth of the tree costs neither stack nor descriptors nor path length.
 */
export async function removeTree(trash: Directory, name: string): Promise<void> {
  const pending = [name];
  for (let current = pending.pop(); current !== undefined; current = pending.pop()) {
    const directory = await openOrUnlink(trash, current);
    if (directory === undefined) continue;
    try {
      // Its owner may have made it unreadable; emptying and moving it needs all rights.
      await directory.chmod(0o700);
      for (const entry of await directory.names()) {
        const stat = await directory.lstat(entry).catch(ignoreMissing);
        if (stat === undefined) continue;
        if (!stat.isDirectory()) {
          await directory.unlink(entry).catch(ignoreMissing);
          continue;
        }
        const moved = randomUUID();
        await makeMovable(directory, entry);
        await directory.rename(entry, trash, moved);
        pending.push(moved);
      }
    } finally {
      await directory.close();
    }
    await trash.removeDirectory(current);
  }
}

// What was a directory when it was looked at may have been swapped for a link before it was moved.
async function openOrUnlink(trash: Directory, name: string): Promise<Directory | undefined> {
  try {
    return await trash.openDirectory(name);
  } catch (error) {
    if (errnoOf(error) !== "ENOTDIR") throw error;
    await trash.unlink(name);
    return undefined;
  }
}

// Moving a directory to another parent rewrites its "..", which needs the right to write in it.
async function makeMovable(parent: Directory, entry: Buffer): Promise<void> {
  const child = await parent.openDirectory(entry);
  await child.chmod(0o700).finally(() => child.close());
}

function ignoreMissing(error: unknown): undefined {
  if (errnoOf(error) !== "ENOENT") throw error;
}
