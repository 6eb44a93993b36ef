// A file in the making. It grows in the thread's `incoming` folder, which no listing shows and no sandbox
// mounts, so neither a client nor a command can see or touch half of it; then it is renamed to its place.
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { AppError } from "../errors.ts";
import type { Directory } from "./directory.ts";
import { errnoOf } from "./file-errors.ts";
import { numberedName } from "./file-name.ts";

/** What a crash left behind is removed when it is older than this; an upload in progress is touched all the time. */
const STALE_MS = 60 * 60 * 1000;
const MAX_NUMBERED = 1000;

export interface StagedFile {
  readonly handle: FileHandle;
  /** Moves the file to `name` in `target`, over what is there, and makes that durable. */
  replace(target: Directory, name: string): Promise<void>;
  /** Moves it to the first of `name`, `name (2)`, … that is free, and returns that name. */
  placeBeside(target: Directory, name: string): Promise<string>;
  /** Closes, and removes what was not placed. */
  discard(): Promise<void>;
}

export async function stageFile(incoming: Directory): Promise<StagedFile> {
  const staged = randomUUID();
  const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL;
  const handle = await incoming.openFile(staged, flags, 0o600);
  let exists = true;
  return {
    handle,
    async replace(target, name) {
      await handle.sync();
      await incoming.rename(staged, target, name);
      exists = false;
      await target.sync();
    },
    async placeBeside(target, name) {
      await handle.sync();
      const free = await placeFirstFree(incoming, staged, target, name);
      exists = free.stagedExists;
      if (exists) await incoming.unlink(staged);
      exists = false;
      await target.sync();
      return free.name;
    },
    async discard() {
      await handle.close();
      if (exists) await incoming.unlink(staged).catch(ignoreMissing);
    },
  };
}

/** Removes what crashed writers left in the folder. */
export async function sweepIncoming(incoming: Directory, now: number): Promise<void> {
  for (const name of await incoming.names()) {
    const stat = await incoming.lstat(name).catch(() => undefined);
    if (stat !== undefined && now - stat.mtimeMs > STALE_MS) await incoming.unlink(name).catch(ignoreMissing);
  }
}

// link(2) fails when the name is taken, which rename(2) does not: so two writers never get the same name.
async function placeFirstFree(incoming: Directory, staged: string, target: Directory, name: string) {
  for (let number = 1; number <= MAX_NUMBERED; number += 1) {
    const candidate = number === 1 ? name : numberedName(name, number);
    try {
      await incoming.link(staged, target, candidate);
      return { name: candidate, stagedExists: true };
    } catch (error) {
      const errno = errnoOf(error);
      if (errno === "EEXIST") continue;
      // File systems without hard links (exFAT, some network ones): take the name first, then move over it.
      if (errno !== "EPERM" && errno !== "ENOTSUP" && errno !== "ENOSYS" && errno !== "EMLINK") throw error;
      if (!(await takeName(target, candidate))) continue;
      await incoming.rename(staged, target, candidate);
      return { name: candidate, stagedExists: false };
    }
  }
  throw new AppError("invalid_file_name", `There are already ${MAX_NUMBERED} files with this name.`);
}

async function takeName(target: Directory, name: string): Promise<boolean> {
  try {
    const placeholder = await target.openFile(
      name,
      constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL,
      0o600,
    );
    await placeholder.close();
    return true;
  } catch (error) {
    if (errnoOf(error) === "EEXIST") return false;
    throw error;
  }
}

function ignoreMissing(error: unknown): void {
  if (errnoOf(error) !== "ENOENT") throw error;
}
