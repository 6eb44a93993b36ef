// The tools of the lead agent. `write_todos` is not among them: its middleware brings it, in plan mode.
import type { DefinedTool, Sandboxes, ThreadFiles } from "#kit";
import { createBashTool } from "./bash.ts";
import { createGlobTool } from "./glob.ts";
import { createGrepTool } from "./grep.ts";
import { createLsTool } from "./ls.ts";
import { createPresentFilesTool } from "./present-files.ts";
import { createReadFileTool } from "./read-file.ts";
import { createStrReplaceTool } from "./str-replace.ts";
import { createViewImageTool } from "./view-image.ts";
import { createWriteFileTool } from "./write-file.ts";

/** Bounds that a deployment may want to change; each tool has its own defaults. */
interface ToolLimits {
  readonly bashTimeoutMs?: number;
  readonly bashOutputChars?: number;
  readonly readFileChars?: number;
  readonly writeFileBytes?: number;
  readonly imageBytes?: number;
}

interface ToolsOptions {
  readonly files: ThreadFiles;
  readonly sandboxes: Sandboxes;
  readonly limits?: ToolLimits;
}

export function createTools({ files, sandboxes, limits = {} }: ToolsOptions): DefinedTool[] {
  return [
    createBashTool({ sandboxes, timeoutMs: limits.bashTimeoutMs, maxOutputChars: limits.bashOutputChars }),
    createLsTool({ files }),
    createReadFileTool({ files, maxChars: limits.readFileChars }),
    createWriteFileTool({ files, maxBytes: limits.writeFileBytes }),
    createStrReplaceTool({ files }),
    createGlobTool({ files }),
    createGrepTool({ files }),
    createViewImageTool({ files, maxBytes: limits.imageBytes }),
    createPresentFilesTool({ files }),
  ];
}
