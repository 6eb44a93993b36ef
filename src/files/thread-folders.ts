// Where the folders of a thread lie on disk, and how they are opened:
//   DATA_DIR/threads/<thread_id>/user-data/{workspace,uploads,outputs}   what the agent sees
//   DATA_DIR/threads/<thread_id>/incoming                                files in the making
//   DATA_DIR/trash                                                       threads being deleted
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "../errors.ts";
import { FOLDERS } from "../kit/thread-files.ts";
import { type Directory, openDirectoryAt } from "./directory.ts";
import { errnoOf } from "./file-errors.ts";
import { quoted } from "./file-name.ts";
import type { VirtualPath } from "./virtual-path.ts";

/** Who owns the files, where that is not the server itself: see `defaultOwner`. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

/**
 * When the server is root, files belong to an unprivileged user: the sandbox runs its commands as the owner of
 * the workspace, and commands must not run as root. 65534 is "nobody" everywhere and mapped in most containers.
 */
export function defaultOwner(): FileOwner | undefined {
  return process.getuid?.() === 0 ? { uid: 65534, gid: 65534 } : undefined;
}

/** Opens folders of threads. The caller closes what it gets. */
export interface ThreadFolders {
  relativePath(threadId: string, folder: string): string;
  /** Makes the three folders. */
  ensure(threadId: string): Promise<void>;
  /** The folder itself, or the one that holds the path's last segment; made when missing if `create`. */
  open(threadId: string, path: VirtualPath, segments: readonly string[], create: boolean): Promise<Directory>;
  openIncoming(threadId: string): Promise<Directory>;
  /** Takes the thread's folder out of the way in one step; undefined when there is none. */
  moveToTrash(threadId: string, name: string): Promise<Directory | undefined>;
}

export function createThreadFolders(options: {
  dataDir: string;
  owner: FileOwner | undefined;
  byDescriptor?: boolean;
}): ThreadFolders {
  const { dataDir, owner, byDescriptor } = options;
  const threadPath = (threadId: string) => join(dataDir, "threads", checkedThreadId(threadId));
  // 0700 keeps other users of the machine out; below it, the owner's usual modes are enough.
  const makePrivate = (path: string) => fs.mkdir(path, { recursive: true, mode: 0o700 });

  const openUserData = (threadId: string) =>
    openDirectoryAt(join(threadPath(threadId), "user-data"), byDescriptor);

  async function makeUserData(threadId: string): Promise<Directory> {
    await makePrivate(threadPath(threadId));
    await fs.mkdir(join(threadPath(threadId), "user-data"), { mode: 0o755 }).catch(ignoreExisting);
    return openUserData(threadId);
  }

  async function openOrMake(parent: Directory, name: string): Promise<Directory> {
    try {
      return await parent.openDirectory(name);
    } catch (error) {
      if (errnoOf(error) !== "ENOENT") throw error;
    }
    await parent.makeDirectory(name, 0o755).catch(ignoreExisting);
    const child = await parent.openDirectory(name);
    if (owner !== undefined) await child.chown(owner.uid, owner.gid);
    return child;
  }

  return {
    relativePath: (threadId, folder) => `threads/${checkedThreadId(threadId)}/user-data/${folder}`,
    async ensure(threadId) {
      const root = await makeUserData(threadId);
      try {
        for (const folder of FOLDERS) {
          const child = await openOrMake(root, folder);
          await child.close();
        }
      } finally {
        await root.close();
      }
    },
    async open(threadId, path, segments, create) {
      const names = path.folder === undefined ? [] : [path.folder, ...segments];
      let current = create ? await makeUserData(threadId) : await openUserData(threadId);
      for (const name of names) {
        try {
          const next = create ? await openOrMake(current, name) : await current.openDirectory(name);
          await current.close();
          current = next;
        } catch (error) {
          const reason = await refineError(error, current, name, path);
          await current.close();
          throw reason;
        }
      }
      return current;
    },
    async openIncoming(threadId) {
      const path = join(threadPath(threadId), "incoming");
      await makePrivate(path);
      return openDirectoryAt(path, byDescriptor);
    },
    async moveToTrash(threadId, name) {
      const trash = join(dataDir, "trash");
      await makePrivate(trash);
      try {
        await fs.rename(threadPath(threadId), join(trash, name));
      } catch (error) {
        if (errnoOf(error) === "ENOENT") return undefined;
        throw error;
      }
      return openDirectoryAt(trash, byDescriptor);
    },
  };
}

// ENOTDIR stands for a file and for a link alike; whoever reads the message should know which.
async function refineError(error: unknown, parent: Directory, name: string, path: VirtualPath) {
  if (errnoOf(error) !== "ENOTDIR") return error;
  const stat = await parent.lstat(name).catch(() => undefined);
  if (stat?.isSymbolicLink() !== true) return error;
  const message = `${path.path} leads through the link ${quoted(name)}; links are not followed.`;
  return new AppError("path_outside", message, { cause: error });
}

function ignoreExisting(error: unknown): void {
  if (errnoOf(error) !== "EEXIST") throw error;
}

function checkedThreadId(threadId: string): string {
  if (/^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/.test(threadId)) return threadId;
  throw new AppError("invalid_request", `${quoted(threadId)} is not a thread id.`);
}
