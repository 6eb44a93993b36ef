// Puts virtual paths where output names host paths. Commands see host paths only by accident (the mount table,
// an error of a tool), but no message may hold one. Pure.
import type { SandboxFolders } from "./provider.ts";

export interface PathMask {
  apply(text: string): string;
  /** Length of the longest text that is replaced: where output is cut, this much beside the cut may be half a path. */
  readonly longest: number;
}

/**
 * Masks the folders of one thread, and what else lies in DATA_DIR. The mount table names a folder from the root of
 * its disk, which may be any tail of its path: so each tail of DATA_DIR counts before `/threads/<thread_id>`.
 */
export function createPathMask({
  dataDir,
  threadId,
}: Pick<SandboxFolders, "dataDir" | "threadId">): PathMask {
  const thread = `${tails(dataDir)}${escaped(`/threads/${threadId}`)}`;
  const rules: [RegExp, string][] = [
    [new RegExp(`${thread}/user-data(?![\\w-])`, "g"), "/mnt/user-data"],
    [new RegExp(`${thread}/sandbox-tmp(?![\\w-])`, "g"), "/tmp"],
    [new RegExp(escaped(dataDir), "g"), "[server data]"],
  ];
  return {
    apply: (text) => rules.reduce((masked, [pattern, virtual]) => masked.replaceAll(pattern, virtual), text),
    longest: 4 * dataDir.length + "/threads/".length + threadId.length + "/sandbox-tmp".length,
  };
}

/** `(?:(?:/a)?/b)?` for `/a/b`. */
function tails(path: string): string {
  const parts = path.split("/").filter((part) => part !== "");
  return parts.reduce((pattern, part) => `(?:${pattern}/${escaped(part)})?`, "");
}

/** As an expression, also for the mount table's way of writing spaces. */
function escaped(text: string): string {
  return text.replaceAll(/[.*+?^${}()|[\]\\]/g, "\\$&").replaceAll(" ", "(?: |\\\\040)");
}
