// A graph of langgraph.json that could not be loaded, in words that may leave the machine.
import path from "node:path";
import { pathToFileURL } from "node:url";

export interface GraphFailure {
  readonly id: string;
  /** As seen from langgraph.json. */
  readonly file: string;
  readonly reason: string;
}

const MOST_LINES = 3;
const MOST_CHARACTERS = 500;

/** A path of the project as seen from langgraph.json, and no folder of any other one. */
export function hideFolders(text: string, projectFolder: string): string {
  return text
    .replaceAll(/\?tsx-namespace=[\w-]+/g, "")
    .replaceAll(`${pathToFileURL(projectFolder).href}/`, "./")
    .replaceAll(`${projectFolder}${path.sep}`, "./")
    .replaceAll(/(?:file:\/\/)?(?<![\w.:/])\/(?:[^\s'"`/:]+\/)+/g, "…/");
}

/** What an error says, on one line: that of a compiler has the reason in its second. */
export function toReason(error: unknown): string {
  const text = error instanceof Error ? error.message || error.name : String(error);
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter(Boolean)
    .slice(0, MOST_LINES)
    .join(" ")
    .slice(0, MOST_CHARACTERS)
    .replace(/\.$/, "");
}
