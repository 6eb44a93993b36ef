// Reads the virtual paths of the agent: /mnt/user-data/<folder>/<segments>. Pure: what lies on disk is not
// asked here, so a path that passes is well formed, not yet contained. Containment is `directory.ts`.
import { AppError } from "../errors.ts";
import { FOLDERS, type Folder, USER_DATA } from "../kit/thread-files.ts";
import { faultOfSegment, quoted } from "./file-name.ts";

/** Linux refuses longer ones as a whole. */
const MAX_PATH_BYTES = 4096;

export interface VirtualPath {
  /** The path without doubled or trailing slashes. */
  readonly path: string;
  /** Undefined for /mnt/user-data itself. */
  readonly folder: Folder | undefined;
  /** Below the folder; empty for the folder itself. */
  readonly segments: readonly string[];
}

/** Throws `path_outside` for what is not under the three folders, `invalid_file_name` for what cannot be a name. */
export function parseVirtualPath(path: string): VirtualPath {
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new AppError("invalid_file_name", `The path is longer than ${MAX_PATH_BYTES} bytes.`);
  }
  const segments = path.split("/").filter((segment) => segment !== "" && segment !== ".");
  if (segments.includes("..")) {
    throw new AppError("path_outside", `The path ${quoted(path)} has a ".." in it, which is not allowed.`);
  }
  const [mnt, userData, folder, ...rest] = segments;
  const isRooted = path.startsWith("/") && `/${mnt}/${userData}` === USER_DATA;
  if (isRooted && folder === undefined) return { path: USER_DATA, folder: undefined, segments: [] };
  if (!isRooted || !isFolder(folder)) {
    const allowed = FOLDERS.map((name) => `${USER_DATA}/${name}`).join(", ");
    throw new AppError("path_outside", `The path ${quoted(path)} is not inside one of ${allowed}.`);
  }
  for (const segment of rest) {
    const fault = faultOfSegment(segment);
    if (fault !== undefined) {
      throw new AppError(
        "invalid_file_name",
        `The path ${quoted(path)} cannot be used: a part of it ${fault}.`,
      );
    }
  }
  return { path: [USER_DATA, folder, ...rest].join("/"), folder, segments: rest };
}

function isFolder(name: string | undefined): name is Folder {
  return FOLDERS.some((folder) => folder === name);
}
