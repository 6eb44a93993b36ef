// `glob`: finds files by name.
import { z } from "zod";
import { cutAtLine, defineTool, SKIPPED_FOLDERS, type ThreadFiles, toGlobMatcher, USER_DATA } from "#kit";

interface GlobOptions {
  readonly files: ThreadFiles;
  readonly maxChars?: number;
}

const MAX_DEPTH = 64;
/** Entries looked at; a larger tree is told to be too large. */
const MAX_ENTRIES = 50_000;

export function createGlobTool({ files, maxChars = 20_000 }: GlobOptions) {
  return defineTool({
    name: "glob",
    description:
      "Finds files by a pattern such as **/*.csv, reports/2024-*.md or *.{png,jpg}. A pattern without a slash " +
      "matches names in every folder. Links, and folders like .git and node_modules, are left out.",
    schema: z.object({
      description: z.string().optional().describe("In a few words, why you search."),
      pattern: z.string().describe("The pattern, relative to path."),
      path: z.string().optional().describe("The folder to search in; by default all of /mnt/user-data."),
      include_dirs: z.boolean().optional().describe("Find folders too."),
      max_results: z.number().int().min(1).max(1_000).optional().describe("Results at most; 200 by default."),
    }),
    async run({ pattern, path = USER_DATA, include_dirs = false, max_results = 200 }, { threadId }) {
      const matches = toGlobMatcher(pattern);
      const root = (await files.stat(threadId, path))?.path ?? path;
      const options = { depth: MAX_DEPTH, limit: MAX_ENTRIES, skip: SKIPPED_FOLDERS };
      const entries = await files.list(threadId, path, options);
      const found = entries.filter(
        (entry) => (include_dirs || entry.type !== "directory") && matches(entry.path.slice(root.length + 1)),
      );
      if (found.length === 0) return `Nothing matches ${pattern} in ${path}.`;
      const lines = found.slice(0, max_results).map((entry) => entry.path);
      if (found.length > max_results) lines.push(`[... ${found.length - max_results} more are left out ...]`);
      if (entries.length === MAX_ENTRIES)
        lines.push(`[... only the first ${MAX_ENTRIES} entries were searched ...]`);
      return cutAtLine(lines.join("\n"), maxChars, "the rest is left out: use a narrower pattern");
    },
  });
}
