// `ls`: what is in a folder, two levels deep.
import { z } from "zod";
import { cutAtLine, defineTool, type FileInfo, type ThreadFiles } from "#kit";

interface LsOptions {
  readonly files: ThreadFiles;
  readonly maxChars?: number;
}

const DEPTH = 2;
const MAX_ENTRIES = 2_000;

export function createLsTool({ files, maxChars = 20_000 }: LsOptions) {
  return defineTool({
    name: "ls",
    description: "Lists a folder, two levels deep, with sizes in bytes. Folders end with a slash.",
    schema: z.object({
      description: z.string().optional().describe("In a few words, why you list the folder."),
      path: z.string().describe("A folder, such as /mnt/user-data/workspace."),
    }),
    async run({ path }, { threadId }) {
      const info = await files.stat(threadId, path);
      if (info !== undefined && info.type !== "directory") return toLine(info);
      const entries = await files.list(threadId, path, { depth: DEPTH, limit: MAX_ENTRIES + 1 });
      if (entries.length === 0) return `${path} is empty.`;
      const lines = entries.slice(0, MAX_ENTRIES).map(toLine);
      if (entries.length > MAX_ENTRIES) lines.push("[... more is left out: list a folder below ...]");
      return cutAtLine(lines.join("\n"), maxChars, "more is left out: list a folder below");
    },
  });
}

function toLine({ path, type, size }: FileInfo): string {
  if (type === "directory") return `${path}/`;
  return type === "file" ? `${path}  ${size} bytes` : `${path}  not a regular file`;
}
