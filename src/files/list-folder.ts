// Walks a folder and says what is in it, in a fixed order.
import type { Stats } from "node:fs";
import type { FileInfo, ListOptions } from "../kit/thread-files.ts";
import type { Directory } from "./directory.ts";
import { errnoOf } from "./file-errors.ts";
import { faultOfSegment } from "./file-name.ts";

/**
 * Entries below `directory`, each folder before its contents, names in code unit order: the same files always
 * give the same list, and a limit cuts the same tail. Left out are links, and names that no virtual path can
 * have (control characters, not UTF-8), since nothing could open them. Stops at `limit` entries.
 */
export async function listFolder(
  directory: Directory,
  path: string,
  options: Required<ListOptions>,
): Promise<FileInfo[]> {
  const found: FileInfo[] = [];
  await collect(directory, path, options, found);
  return found;
}

async function collect(
  directory: Directory,
  path: string,
  options: Required<ListOptions>,
  found: FileInfo[],
) {
  const { depth, limit, skip } = options;
  const names = (await directory.names()).map((name) => name.toString()).filter(isAddressable);
  for (const name of names.sort()) {
    if (found.length >= limit) return;
    const stat = await directory.lstat(name).catch(ignoreVanished);
    if (stat === undefined || stat.isSymbolicLink()) continue;
    const info = toFileInfo(`${path}/${name}`, stat);
    if (info.type === "directory" && skip.has(name)) continue;
    found.push(info);
    if (info.type !== "directory" || depth <= 1) continue;
    const child = await directory.openDirectory(name).catch(ignoreVanished);
    if (child === undefined) continue;
    try {
      await collect(child, info.path, { ...options, depth: depth - 1 }, found);
    } catch (error) {
      // A folder that its owner closed with chmod is listed without its contents.
      if (errnoOf(error) !== "EACCES") throw error;
    } finally {
      await child.close();
    }
  }
}

export function toFileInfo(path: string, stat: Stats): FileInfo {
  const type = stat.isFile() ? "file" : stat.isDirectory() ? "directory" : "other";
  const name = path.slice(path.lastIndexOf("/") + 1);
  return { path, name, type, size: type === "file" ? stat.size : 0, modified_at: stat.mtime };
}

// A replacement character stands for bytes that are not UTF-8: the name shown is not the name on disk.
function isAddressable(name: string): boolean {
  return faultOfSegment(name) === undefined && !name.includes("\ufffd");
}

function ignoreVanished(error: unknown): undefined {
  const errno = errnoOf(error);
  if (errno !== "ENOENT" && errno !== "ENOTDIR") throw error;
}
