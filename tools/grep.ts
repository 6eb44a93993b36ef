// `grep`: finds lines by their text. Expressions are RE2's, which take linear time: no pattern of a model can keep
// the server busy, and between files the server gets its turn.
import { setImmediate } from "node:timers/promises";
import { RE2JS } from "re2js";
import { z } from "zod";
import {
  cutAtLine,
  defineTool,
  type FileInfo,
  SKIPPED_FOLDERS,
  type ThreadFiles,
  toGlobMatcher,
  USER_DATA,
} from "#kit";

interface GrepOptions {
  readonly files: ThreadFiles;
  readonly maxChars?: number;
}

const MAX_DEPTH = 64;
const MAX_ENTRIES = 50_000;
const MAX_FILE_BYTES = 1024 * 1024;
const MAX_TOTAL_BYTES = 64 * 1024 * 1024;
/** Longer lines are data, not text. */
const MAX_LINE_CHARS = 2_000;
const SHOWN_CHARS = 200;
const MAX_PATTERN_CHARS = 1_000;

export function createGrepTool({ files, maxChars = 20_000 }: GrepOptions) {
  return defineTool({
    name: "grep",
    description:
      "Finds lines that match a regular expression (RE2: no look-around, no back-references) or, with literal, " +
      "a text. Shows path:line: text. Files over 1 MB and lines over 2,000 characters are left out: use bash " +
      "for those.",
    schema: z.object({
      description: z.string().optional().describe("In a few words, why you search."),
      pattern: z.string().min(1).max(MAX_PATTERN_CHARS).describe("The expression or text."),
      path: z
        .string()
        .optional()
        .describe("The folder or file to search in; by default all of /mnt/user-data."),
      glob: z.string().optional().describe("Only files whose path matches, such as *.py."),
      literal: z.boolean().optional().describe("Take the pattern as plain text."),
      case_sensitive: z.boolean().optional().describe("Tell capitals from small letters."),
      max_results: z.number().int().min(1).max(500).optional().describe("Lines at most; 100 by default."),
    }),
    async run(args, { threadId, signal }) {
      const {
        pattern,
        path = USER_DATA,
        glob,
        literal = false,
        case_sensitive = false,
        max_results = 100,
      } = args;
      const find = toFinder(pattern, literal, case_sensitive);
      const searched = await filesIn(files, threadId, path, glob);
      const lines: string[] = [];
      const readable = searched.filter((file) => file.size <= MAX_FILE_BYTES);
      let bytes = 0;
      for (const file of readable) {
        signal?.throwIfAborted();
        if (lines.length > max_results || bytes > MAX_TOTAL_BYTES) break;
        bytes += file.size;
        // A file that has vanished or is closed to the server is no reason to find nothing in the others.
        const content = await files
          .read(threadId, file.path, { maxBytes: MAX_FILE_BYTES })
          .catch(() => undefined);
        if (content === undefined || content.includes(0)) continue;
        lines.push(...matchesIn(file.path, content.toString(), find, max_results + 1 - lines.length));
        await setImmediate();
      }
      const notes = [
        lines.length > max_results ? `only the first ${max_results} lines` : "",
        bytes > MAX_TOTAL_BYTES ? "stopped after 64 MB" : "",
        searched.length > readable.length
          ? `${searched.length - readable.length} files over 1 MB were not searched`
          : "",
      ].filter((note) => note !== "");
      const shown = lines.slice(0, max_results);
      if (shown.length === 0) shown.push(`No line matches in ${path} (${readable.length} files).`);
      const text = cutAtLine(shown.join("\n"), maxChars, "the rest is left out: use a narrower pattern");
      return notes.length === 0 ? text : `${text}\n[... ${notes.join("; ")} ...]`;
    },
  });
}

/** Where in a line the match begins, or -1. */
type Finder = (line: string) => number;

function toFinder(pattern: string, isLiteral: boolean, isCaseSensitive: boolean): Finder {
  const flags = isCaseSensitive ? 0 : RE2JS.CASE_INSENSITIVE;
  let expression: RE2JS;
  try {
    expression = RE2JS.compile(isLiteral ? RE2JS.quote(pattern) : pattern, flags);
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^error parsing regexp: /, "") : "";
    throw new Error(
      `The pattern is not a regular expression of RE2 (${reason}). Set literal for plain text.`,
    );
  }
  return (line) => {
    const matcher = expression.matcher(line);
    return matcher.find() ? matcher.start() : -1;
  };
}

async function filesIn(files: ThreadFiles, threadId: string, path: string, glob: string | undefined) {
  const info = await files.stat(threadId, path);
  if (info?.type === "file") return [info];
  const matches = glob === undefined ? () => true : toGlobMatcher(glob);
  const options = { depth: MAX_DEPTH, limit: MAX_ENTRIES, skip: SKIPPED_FOLDERS };
  const root = (info?.path ?? path).length + 1;
  const entries = await files.list(threadId, path, options);
  return entries.filter((entry: FileInfo) => entry.type === "file" && matches(entry.path.slice(root)));
}

function matchesIn(path: string, text: string, find: Finder, limit: number): string[] {
  const found: string[] = [];
  for (const [index, raw] of text.split("\n").entries()) {
    if (found.length >= limit) break;
    if (raw.length > MAX_LINE_CHARS) continue;
    const line = raw.replace(/\r$/, "");
    const at = find(line);
    if (at !== -1) found.push(`${path}:${index + 1}: ${around(line, at)}`);
  }
  return found;
}

/** The line, or the part of it in which the match stands. */
function around(line: string, at: number): string {
  if (line.length <= SHOWN_CHARS) return line;
  const start = Math.max(0, Math.min(at - SHOWN_CHARS / 4, line.length - SHOWN_CHARS));
  const part = line.slice(start, start + SHOWN_CHARS).toWellFormed();
  return `${start > 0 ? "…" : ""}${part}${start + SHOWN_CHARS < line.length ? "…" : ""}`;
}
