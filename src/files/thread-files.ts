// The files of all threads on the server's disk: kit's `ThreadFiles`. Each method parses the virtual path, walks
// to its folder by descriptors, works on one name there, and answers with AppErrors that name virtual paths only.
import { randomUUID } from "node:crypto";
import type { Readable } from "node:stream";
import { AppError } from "../errors.ts";
import { createKeyLock } from "../kit/key-lock.ts";
import type { FileInfo, ThreadFiles, WriteOptions } from "../kit/thread-files.ts";
import type { Directory } from "./directory.ts";
import { errnoOf, toFileError } from "./file-errors.ts";
import { listFolder, toFileInfo } from "./list-folder.ts";
import { openRegularFile, readUpTo } from "./open-file.ts";
import { removeTree } from "./remove-tree.ts";
import { createThreadFolders, defaultOwner, type FileOwner } from "./thread-folders.ts";
import { parseVirtualPath, type VirtualPath } from "./virtual-path.ts";
import { type Bytes, writeFileIn } from "./write-file.ts";

/** Read into memory at most, where the caller sets no limit. */
const MAX_READ_BYTES = 64 * 1024 * 1024;
const MAX_LISTED = 10_000;
const NOTHING: ReadonlySet<string> = new Set();

export interface ThreadFilesOptions {
  /** Absolute; made when missing. */
  readonly dataDir: string;
  /** Who owns what is written; `defaultOwner()` unless set. */
  readonly owner?: FileOwner;
  /** False takes the way of systems without /proc, for its tests. */
  readonly byDescriptor?: boolean;
}

export function createThreadFiles(options: ThreadFilesOptions): ThreadFiles {
  const owner = options.owner ?? defaultOwner();
  const folders = createThreadFolders({ ...options, owner });
  const lock = createKeyLock();

  /** Runs `work` on the folder that holds the path's last segment. */
  async function inParent<T>(
    threadId: string,
    path: string,
    work: (directory: Directory, name: string, virtual: VirtualPath) => Promise<T>,
    create = false,
  ): Promise<T> {
    const virtual = parseVirtualPath(path);
    const name = virtual.segments.at(-1);
    if (name === undefined) throw new AppError("file_not_regular", `${virtual.path} is a folder.`);
    try {
      const directory = await folders.open(threadId, virtual, virtual.segments.slice(0, -1), create);
      return await work(directory, name, virtual).finally(() => directory.close());
    } catch (error) {
      throw toFileError(error, virtual.path);
    }
  }

  async function write(threadId: string, path: string, data: Bytes, writeOptions: WriteOptions) {
    return inParent(
      threadId,
      path,
      async (directory, name, virtual) => {
        const incoming = await folders.openIncoming(threadId);
        const target = { directory, name, path: virtual.path, incoming, owner };
        return writeFileIn(target, data, writeOptions).finally(() => incoming.close());
      },
      true,
    );
  }

  async function read(threadId: string, path: string, maxBytes: number): Promise<Buffer> {
    return inParent(threadId, path, async (directory, name, virtual) => {
      const handle = await openRegularFile(directory, name, virtual.path);
      try {
        const { size } = await handle.stat();
        if (size > maxBytes) {
          const message = `${virtual.path} has ${size} bytes, more than the ${maxBytes} that can be read at once.`;
          throw new AppError("payload_too_large", message);
        }
        return await readUpTo(handle, size);
      } finally {
        await handle.close();
      }
    });
  }

  const keyOf = (threadId: string, path: string) => `${threadId}:${parseVirtualPath(path).path}`;

  return {
    paths: (threadId) => ({
      workspace_path: folders.relativePath(threadId, "workspace"),
      uploads_path: folders.relativePath(threadId, "uploads"),
      outputs_path: folders.relativePath(threadId, "outputs"),
    }),

    async ensure(threadId) {
      await folders.ensure(threadId).catch((error: unknown) => {
        throw toFileError(error, "the thread's folders");
      });
    },

    async stat(threadId, path) {
      const virtual = parseVirtualPath(path);
      try {
        if (virtual.segments.length === 0) {
          const directory = await folders.open(threadId, virtual, [], false);
          return toFileInfo(virtual.path, await directory.stat().finally(() => directory.close()));
        }
        return await inParent(threadId, path, async (directory, name) =>
          toFileInfo(virtual.path, await directory.lstat(name)),
        );
      } catch (error) {
        if (isMissing(error)) return undefined;
        throw toFileError(error, virtual.path);
      }
    },

    async list(threadId, path, { depth = 1, limit = MAX_LISTED, skip = NOTHING } = {}) {
      const virtual = parseVirtualPath(path);
      try {
        const directory = await folders.open(threadId, virtual, virtual.segments, false);
        return await listFolder(directory, virtual.path, { depth, limit, skip }).finally(() =>
          directory.close(),
        );
      } catch (error) {
        // The three folders come into being with their first file; until then they are empty, not missing.
        if (virtual.segments.length === 0 && isMissing(error)) return [];
        throw toFileError(error, virtual.path);
      }
    },

    read: (threadId, path, { maxBytes = MAX_READ_BYTES } = {}) => read(threadId, path, maxBytes),

    open: (threadId, path) =>
      inParent(threadId, path, async (directory, name, virtual) => {
        const handle = await openRegularFile(directory, name, virtual.path);
        return {
          info: toFileInfo(virtual.path, await handle.stat()),
          stream: (range): Readable => handle.createReadStream({ ...range, autoClose: true }),
          close: () => handle.close(),
        };
      }),

    write: (threadId, path, data, writeOptions = {}) =>
      lock.run(keyOf(threadId, path), () => write(threadId, path, data, writeOptions)),

    update: (threadId, path, change, { maxBytes = MAX_READ_BYTES } = {}) =>
      lock.run(keyOf(threadId, path), async (): Promise<FileInfo> => {
        const before = await read(threadId, path, maxBytes);
        return write(threadId, path, change(before), { maxBytes });
      }),

    async remove(threadId, path) {
      try {
        await inParent(threadId, path, (directory, name) => directory.unlink(name));
        return true;
      } catch (error) {
        if (isMissing(error)) return false;
        throw error;
      }
    },

    async removeThread(threadId) {
      const name = randomUUID();
      try {
        const trash = await folders.moveToTrash(threadId, name);
        if (trash !== undefined) await removeTree(trash, name).finally(() => trash.close());
      } catch (error) {
        throw toFileError(error, "the thread's folders");
      }
    },
  };
}

function isMissing(error: unknown): boolean {
  const cause = error instanceof AppError ? error.cause : error;
  return errnoOf(cause) === "ENOENT";
}
