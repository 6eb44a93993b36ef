// `str_replace`: changes one place of a text file, or all of them when asked to. A place that is not unique is
// refused: replacing the first of several would look like success.
import { z } from "zod";
import { defineTool, type ThreadFiles } from "#kit";

interface StrReplaceOptions {
  readonly files: ThreadFiles;
  readonly maxBytes?: number;
}

const MAX_LINES_TOLD = 20;

export function createStrReplaceTool({ files, maxBytes = 10 * 1024 * 1024 }: StrReplaceOptions) {
  return defineTool({
    name: "str_replace",
    description:
      "Replaces a text in a file. old_str must be exactly as in the file, with its spaces and line ends, and " +
      "must occur once; add lines around it until it does, or set replace_all.",
    schema: z.object({
      description: z.string().optional().describe("In a few words, why you change the file."),
      path: z.string().describe("A file under /mnt/user-data."),
      old_str: z.string().min(1).describe("The text to replace."),
      new_str: z.string().describe("The text to put there; empty removes."),
      replace_all: z.boolean().optional().describe("Replace every occurrence."),
    }),
    async run({ path, old_str, new_str, replace_all = false }, { threadId }) {
      if (old_str === new_str) throw new Error("old_str and new_str are the same: nothing would change.");
      let told = "";
      const info = await files.update(
        threadId,
        path,
        (bytes) => {
          const text = toText(bytes, path);
          const places = linesOf(text, old_str);
          if (places.length === 0) throw new Error(notFound(text, old_str, path));
          if (places.length > 1 && !replace_all) {
            const where = list(places);
            throw new Error(
              `old_str occurs ${places.length} times in ${path}, on lines ${where}. Add text around it, or set replace_all.`,
            );
          }
          told = `${places.length} ${places.length === 1 ? "place" : "places"}, line ${list(places)}`;
          // A function, because in a string "$&" would be replaced too.
          return text.replaceAll(old_str, () => new_str);
        },
        { maxBytes },
      );
      return `Replaced ${told} in ${info.path}.`;
    },
  });
}

// Written back, bytes that are not UTF-8 would be lost.
function toText(bytes: Buffer, path: string): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Error(`${path} is not a text file in UTF-8: change it with bash.`);
  }
}

/** The line of each occurrence; those that overlap count once, as they are replaced. */
function linesOf(text: string, part: string): number[] {
  const lines: number[] = [];
  let line = 1;
  let from = 0;
  for (let at = text.indexOf(part); at !== -1; at = text.indexOf(part, at + part.length)) {
    line += text.slice(from, at).split("\n").length - 1;
    lines.push(line);
    from = at;
  }
  return lines;
}

function notFound(text: string, part: string, path: string): string {
  const message = `old_str does not occur in ${path}.`;
  if (text.replaceAll("\r\n", "\n").includes(part)) return `${message} The file's lines end with \\r\\n.`;
  const loose = (value: string) => value.replaceAll(/\s+/g, " ").trim();
  if (loose(text).includes(loose(part))) return `${message} It does with other spaces: read the file again.`;
  return `${message} Read the file again and copy the text exactly.`;
}

function list(lines: readonly number[]): string {
  const shown = lines.slice(0, MAX_LINES_TOLD).join(", ");
  return lines.length > MAX_LINES_TOLD ? `${shown}, …` : shown;
}
