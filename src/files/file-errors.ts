// Turns what the operating system says into an AppError. The system's message holds the host path, so it goes
// into `cause`, for the log, and never into the message.
import { AppError, type ErrorCode } from "../errors.ts";

type Answer = readonly [code: ErrorCode, sentence: (path: string) => string];

const ANSWERS: Readonly<Record<string, Answer>> = {
  ENOENT: ["file_not_found", (path) => `There is no file or folder at ${path}.`],
  ENOTDIR: ["file_not_found", (path) => `There is no file at ${path}: a part of the path is not a folder.`],
  ELOOP: ["file_not_regular", (path) => `${path} is a link; links are not followed.`],
  // What opening a socket, or a FIFO for writing, says.
  ENXIO: ["file_not_regular", (path) => `${path} is not a regular file.`],
  EISDIR: ["file_not_regular", (path) => `${path} is a folder.`],
  ENOTEMPTY: ["file_not_regular", (path) => `${path} is a folder.`],
  EEXIST: ["file_not_regular", (path) => `${path} exists already and is not a file.`],
  ENAMETOOLONG: ["invalid_file_name", () => "The path or one of its parts is too long."],
  EFBIG: ["payload_too_large", (path) => `${path} would become larger than the disk allows.`],
  ENOSPC: ["storage_full", () => "There is no room left on the server's disk."],
  EDQUOT: ["storage_full", () => "The server's disk quota is used up."],
  EACCES: ["file_not_found", (path) => `${path} cannot be opened: its permissions forbid it.`],
  EPERM: ["file_not_found", (path) => `${path} cannot be changed: its permissions forbid it.`],
};

/** `path` is the virtual path to name. An AppError passes through unchanged. */
export function toFileError(error: unknown, path: string): AppError {
  if (error instanceof AppError) return error;
  const errno = errnoOf(error);
  const answer = errno === undefined ? undefined : ANSWERS[errno];
  if (answer === undefined) {
    return new AppError("internal", `The file system failed at ${path} (${errno ?? "unknown"}).`, {
      cause: error,
    });
  }
  return new AppError(answer[0], answer[1](path), { cause: error });
}

/** The errno name (`ENOENT`) of an error of node:fs. */
export function errnoOf(error: unknown): string | undefined {
  if (!(error instanceof Error) || !("code" in error) || typeof error.code !== "string") return undefined;
  return error.code;
}
