// An open directory whose entries are reached through its descriptor, so that nobody can swap a parent for a
// link between a check and its use. Linux gives that as /proc/self/fd/<fd>/<name>, which is openat(2) by
// another name. Elsewhere the path is used, and the identity of every directory on it is checked around each use.
import { constants, existsSync, type Stats } from "node:fs";
import * as fs from "node:fs/promises";
import { join } from "node:path";

/** One name in a directory. Bytes, because a command may make names that are not UTF-8. */
type Name = string | Buffer;

/** Methods take one name, never a path, follow no link, and fail with the errors of node:fs. */
export interface Directory {
  /** Fails with ENOTDIR on anything else than a directory, links to directories included. */
  openDirectory(name: Name): Promise<Directory>;
  openFile(name: string, flags: number, mode?: number): Promise<fs.FileHandle>;
  names(): Promise<Buffer[]>;
  lstat(name: Name): Promise<Stats>;
  makeDirectory(name: string, mode: number): Promise<void>;
  rename(name: Name, target: Directory, newName: string): Promise<void>;
  link(name: string, target: Directory, newName: string): Promise<void>;
  unlink(name: Name): Promise<void>;
  removeDirectory(name: string): Promise<void>;
  chown(uid: number, gid: number): Promise<void>;
  chmod(mode: number): Promise<void>;
  stat(): Promise<Stats>;
  /** Makes renames in this directory outlast a power failure. */
  sync(): Promise<void>;
  close(): Promise<void>;
  /** A path for node:fs that names an entry; only for the other methods here. */
  entry(name: Name): Name;
}

// A descriptor that only marks a place: works on directories that may not be read, and on Linux alone.
const O_PATH = 0o10000000;
// macOS: refuses links in the whole path, not only in its last part.
const O_NOFOLLOW_ANY = process.platform === "darwin" ? 0x20000000 : 0;
const NOFOLLOW = (constants.O_NOFOLLOW ?? 0) | O_NOFOLLOW_ANY;

/** Whether directories can be held by descriptor here. */
export const HAS_DESCRIPTOR_PATHS = process.platform === "linux" && existsSync("/proc/self/fd");

/** `path` itself is trusted: only the server writes above the thread's folders. */
export async function openDirectoryAt(path: string, byDescriptor = HAS_DESCRIPTOR_PATHS): Promise<Directory> {
  return byDescriptor ? openDescriptor(path) : openIdentified(await fs.realpath(path), []);
}

async function openDescriptor(path: Name): Promise<Directory> {
  const handle = await fs.open(path, O_PATH | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  // Read at each use: after close() the descriptor is -1 and names nothing, never a file opened since.
  const self = () => `/proc/self/fd/${handle.fd}`;
  return {
    ...namedBy(self, async () => {}),
    openDirectory: (name) => openDescriptor(entryOf(self(), name)),
    openFile: (name, flags, mode) => fs.open(`${self()}/${name}`, flags | NOFOLLOW, mode),
    close: () => handle.close(),
  };
}

interface Identity {
  readonly path: string;
  readonly dev: number;
  readonly ino: number;
}

/**
 * Without descriptors a swap is noticed, not made impossible: it would have to be undone between two checks.
 * No hostile process shares the folders there: the commands run in `virtual`, which makes no links.
 */
async function openIdentified(path: string, parents: readonly Identity[]): Promise<Directory> {
  const stat = await fs.lstat(path);
  if (!stat.isDirectory()) throw systemError("ENOTDIR");
  const chain = [...parents, { path, dev: stat.dev, ino: stat.ino }];
  const confirm = async () => {
    for (const one of chain) {
      const now = await fs.lstat(one.path);
      if (!now.isDirectory() || now.dev !== one.dev || now.ino !== one.ino) throw systemError("ENOTDIR");
    }
  };
  return {
    ...namedBy(() => path, confirm),
    openDirectory: (name) => openIdentified(join(path, name.toString()), chain),
    openFile: async (name, flags, mode) => {
      await confirm();
      const handle = await fs.open(join(path, name), flags | NOFOLLOW, mode);
      try {
        const [opened, named] = await Promise.all([handle.stat(), fs.lstat(join(path, name))]);
        if (named.isSymbolicLink() || named.dev !== opened.dev || named.ino !== opened.ino) {
          throw systemError("ELOOP");
        }
        await confirm();
        return handle;
      } catch (error) {
        await handle.close();
        throw error;
      }
    },
    close: async () => {},
  };
}

type Named = Omit<Directory, "openDirectory" | "openFile" | "close">;

function namedBy(self: () => string, confirm: () => Promise<void>): Named {
  const entry = (name: Name) => entryOf(self(), name);
  return {
    entry,
    names: async () => {
      await confirm();
      const names = await fs.readdir(self(), { encoding: "buffer" });
      await confirm();
      return names;
    },
    lstat: (name) => confirm().then(() => fs.lstat(entry(name))),
    makeDirectory: (name, mode) => confirm().then(() => fs.mkdir(entry(name), mode)),
    rename: (name, target, newName) => confirm().then(() => fs.rename(entry(name), target.entry(newName))),
    link: (name, target, newName) => confirm().then(() => fs.link(entry(name), target.entry(newName))),
    unlink: (name) => confirm().then(() => fs.unlink(entry(name))),
    removeDirectory: (name) => confirm().then(() => fs.rmdir(entry(name))),
    chown: (uid, gid) => confirm().then(() => fs.chown(self(), uid, gid)),
    chmod: (mode) => confirm().then(() => fs.chmod(self(), mode)),
    stat: () => confirm().then(() => fs.stat(self())),
    sync: async () => {
      // Windows cannot open a directory for that; its file systems journal renames.
      if (process.platform === "win32") return;
      const readable = await fs.open(self(), constants.O_RDONLY | constants.O_DIRECTORY);
      await readable.sync().finally(() => readable.close());
    },
  };
}

function entryOf(directory: string, name: Name): Name {
  return typeof name === "string"
    ? join(directory, name)
    : Buffer.concat([Buffer.from(`${directory}/`), name]);
}

function systemError(code: string): Error {
  return Object.assign(new Error(code), { code });
}
