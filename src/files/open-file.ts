// Opens a file for the host to read: a regular file with one name, without waiting for anything.
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { AppError } from "../errors.ts";
import type { Directory } from "./directory.ts";

// O_NONBLOCK: opening a FIFO that nobody writes to would otherwise hold a thread of the pool for ever.
const FLAGS = constants.O_RDONLY | (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);

/**
 * A file with several names is refused. The agent can make hard links only inside its own mounts, so there they
 * are harmless; but whoever else may write below DATA_DIR (another process of this user, the `local` sandbox)
 * could give a foreign file a name here, and from inside the file that cannot be told. The agent loses little:
 * the message names the way out.
 */
export async function openRegularFile(directory: Directory, name: string, path: string): Promise<FileHandle> {
  const handle = await directory.openFile(name, FLAGS);
  try {
    const stat = await handle.stat();
    if (stat.isDirectory()) throw new AppError("file_not_regular", `${path} is a folder.`);
    if (!stat.isFile()) throw new AppError("file_not_regular", `${path} is not a regular file.`);
    if (stat.nlink > 1) {
      throw new AppError(
        "file_not_regular",
        `${path} has several hard links and is not read. Copy it with cp and use the copy.`,
      );
    }
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** At most `size` bytes from the start: a file that grows while it is read must not fill the memory. */
export async function readUpTo(handle: FileHandle, size: number): Promise<Buffer> {
  const buffer = Buffer.alloc(size);
  let filled = 0;
  while (filled < size) {
    const { bytesRead } = await handle.read(buffer, filled, size - filled, filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
