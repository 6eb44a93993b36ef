// The files of a thread, as tools, middlewares and the file routes see them: virtual paths only, under
// /mnt/user-data. The implementation is src/files/; nothing here touches a disk.
import type { Readable } from "node:stream";

/** Root of every virtual path the agent sees (document 000, "Virtual Path Mappings"). */
export const USER_DATA = "/mnt/user-data";

/** The three folders of a thread. */
export const FOLDERS = ["workspace", "uploads", "outputs"] as const;
export type Folder = (typeof FOLDERS)[number];

/**
 * Document 000 `ThreadDataState`: where the thread's folders lie. Relative to the server's data directory
 * (`threads/<thread_id>/user-data/workspace`), because state reaches clients and no client may see a host path.
 */
export interface ThreadDataState {
  workspace_path?: string | null;
  uploads_path?: string | null;
  outputs_path?: string | null;
}

export interface FileInfo {
  /** Virtual path, for example `/mnt/user-data/outputs/report.md`. */
  readonly path: string;
  /** Last segment of the path. */
  readonly name: string;
  readonly type: "file" | "directory" | "other";
  /** Bytes; 0 for a directory. */
  readonly size: number;
  readonly modified_at: Date;
}

/** A regular file, opened without following links. The owner must close it, or read a stream to its end. */
export interface OpenFile {
  readonly info: FileInfo;
  /** Bytes `start` to `end`, both included, the whole file by default. Closes the file when it ends. */
  stream(range?: { start: number; end: number }): Readable;
  close(): Promise<void>;
}

export interface WriteOptions {
  /** Add to the end instead of replacing. */
  readonly append?: boolean;
  /** A file larger than this ends with `payload_too_large`, and the old file stays. */
  readonly maxBytes?: number;
  /** False keeps an existing file and writes to `name (2).ext` instead; the returned info says where. Default true. */
  readonly overwrite?: boolean;
}

export interface ListOptions {
  /** Levels of folders; 1, the default, is the folder itself. */
  readonly depth?: number;
  /** Entries at most; default 10,000. */
  readonly limit?: number;
  /** Names of folders that are left out with all that is in them. */
  readonly skip?: ReadonlySet<string>;
}

/**
 * Files of all threads. `path` is a virtual path inside one of the three folders. Every method refuses, with an
 * AppError: `path_outside` (no virtual path, `..`, or a link leads out), `invalid_file_name` (NUL, too long),
 * `file_not_found`, `file_not_regular` (also for a file with several hard links), `payload_too_large`,
 * `storage_full`, `upload_incomplete` (the data's iterable threw). Links are never followed.
 */
export interface ThreadFiles {
  /** The thread's folders as the state shows them; creates nothing. */
  paths(threadId: string): Required<ThreadDataState>;
  /** Creates the three folders. */
  ensure(threadId: string): Promise<void>;
  stat(threadId: string, path: string): Promise<FileInfo | undefined>;
  /** Entries below a folder, each folder before its contents. Links are left out. */
  list(threadId: string, path: string, options?: ListOptions): Promise<FileInfo[]>;
  /** The whole file; larger than `maxBytes` ends with `payload_too_large` before anything is read. */
  read(threadId: string, path: string, options?: { maxBytes?: number }): Promise<Buffer>;
  open(threadId: string, path: string): Promise<OpenFile>;
  /** Writes elsewhere on the same disk and renames, so that a reader sees the old file or the new one, never half. */
  write(
    threadId: string,
    path: string,
    data: string | Uint8Array | AsyncIterable<Uint8Array>,
    options?: WriteOptions,
  ): Promise<FileInfo>;
  /** Reads a file and writes what `change` makes of it, as one step: parallel writes and updates of it wait. */
  update(
    threadId: string,
    path: string,
    change: (content: Buffer) => string | Uint8Array,
    options?: { maxBytes?: number },
  ): Promise<FileInfo>;
  /** Removes a file; false when there was none. */
  remove(threadId: string, path: string): Promise<boolean>;
  /** Removes everything of the thread. */
  removeThread(threadId: string): Promise<void>;
}
