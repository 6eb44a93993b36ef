// Writes one file as a whole: stage, count, place. The reader sees the old file or the new one.
import type { FileHandle } from "node:fs/promises";
import { AppError } from "../errors.ts";
import type { FileInfo, WriteOptions } from "../kit/thread-files.ts";
import type { Directory } from "./directory.ts";
import { errnoOf, toFileError } from "./file-errors.ts";
import { toFileInfo } from "./list-folder.ts";
import { openRegularFile } from "./open-file.ts";
import { type StagedFile, stageFile, sweepIncoming } from "./staged-file.ts";
import type { FileOwner } from "./thread-folders.ts";

export type Bytes = string | Uint8Array | AsyncIterable<Uint8Array>;

interface WriteTarget {
  readonly directory: Directory;
  readonly name: string;
  readonly path: string;
  readonly incoming: Directory;
  readonly owner: FileOwner | undefined;
}

export async function writeFileIn(
  target: WriteTarget,
  data: Bytes,
  options: WriteOptions,
): Promise<FileInfo> {
  const { directory, name, path, incoming, owner } = target;
  await sweepIncoming(incoming, Date.now());
  const staged = await stageFile(incoming);
  try {
    const { handle } = staged;
    if (options.append === true) await copyExisting(target, handle, options.maxBytes);
    await appendBytes(handle, data, path, options.maxBytes);
    if (owner !== undefined) await handle.chown(owner.uid, owner.gid);
    await handle.chmod(options.overwrite === false ? 0o644 : await modeOf(directory, name));
    const stat = await handle.stat();
    return toFileInfo(await place(staged, target, options), stat);
  } finally {
    await staged.discard();
  }
}

async function place(staged: StagedFile, target: WriteTarget, options: WriteOptions): Promise<string> {
  if (options.overwrite !== false) {
    await staged.replace(target.directory, target.name);
    return target.path;
  }
  const placed = await staged.placeBeside(target.directory, target.name);
  return `${target.path.slice(0, target.path.lastIndexOf("/"))}/${placed}`;
}

// A script that was made executable stays so when it is written again.
async function modeOf(directory: Directory, name: string): Promise<number> {
  const stat = await directory.lstat(name).catch(() => undefined);
  return stat?.isFile() === true ? stat.mode & 0o777 : 0o644;
}

async function copyExisting(target: WriteTarget, handle: FileHandle, maxBytes: number | undefined) {
  let existing: FileHandle;
  try {
    existing = await openRegularFile(target.directory, target.name, target.path);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return;
    throw error;
  }
  await appendBytes(handle, existing.createReadStream({ autoClose: true }), target.path, maxBytes);
}

/** Writes at the end of `handle`; `maxBytes` bounds the whole file. */
async function appendBytes(
  handle: FileHandle,
  data: Bytes,
  path: string,
  maxBytes = Number.POSITIVE_INFINITY,
) {
  let size = (await handle.stat()).size;
  const add = async (chunk: Uint8Array) => {
    if (size + chunk.byteLength > maxBytes) {
      throw new AppError("payload_too_large", `${path} would have more than ${maxBytes} bytes.`);
    }
    for (let written = 0; written < chunk.byteLength; ) {
      const { bytesWritten } = await handle.write(chunk, written, chunk.byteLength - written, size);
      written += bytesWritten;
      size += bytesWritten;
    }
  };
  if (typeof data === "string") return add(Buffer.from(data));
  if (data instanceof Uint8Array) return add(data);
  for await (const chunk of sourceOf(data, path)) await add(chunk);
}

// A source that breaks off is the sender's fault, and is told apart from a disk that fails.
async function* sourceOf(data: AsyncIterable<Uint8Array>, path: string): AsyncIterable<Uint8Array> {
  try {
    yield* data;
  } catch (error) {
    const known = errnoOf(error) === undefined ? undefined : toFileError(error, path);
    if (error instanceof AppError || known?.code === "storage_full") throw error;
    throw new AppError("upload_incomplete", "The data ended before all of it had arrived.", { cause: error });
  }
}
