// `read_file`: a text file, or some lines of it. Reads as a stream and stops when it has enough, so that the size
// of the file does not matter.
import { z } from "zod";
import { defineTool, type ThreadFiles } from "#kit";

interface ReadFileOptions {
  readonly files: ThreadFiles;
  readonly maxChars?: number;
}

const line = z.number().int().min(1).optional();

export function createReadFileTool({ files, maxChars = 50_000 }: ReadFileOptions) {
  return defineTool({
    name: "read_file",
    description:
      "Reads a text file, or the lines from start_line to end_line, both included and counted from 1. A long " +
      "file is cut, and the result says where to read on. For images use view_image, for other files bash.",
    schema: z.object({
      description: z.string().optional().describe("In a few words, why you read the file."),
      path: z.string().describe("A file under /mnt/user-data."),
      start_line: line.describe("First line to read."),
      end_line: line.describe("Last line to read."),
    }),
    async run({ path, start_line = 1, end_line = Number.POSITIVE_INFINITY }, { threadId }) {
      if (end_line < start_line) throw new Error(`end_line ${end_line} is before start_line ${start_line}.`);
      const file = await files.open(threadId, path);
      if (file.info.size === 0) {
        await file.close();
        return `${file.info.path} is empty.`;
      }
      // Leaving the loop destroys the stream, which closes the file.
      const read = await readLines(file.stream(), { start_line, end_line, maxChars, path: file.info.path });
      if (read.text !== "" || read.isCut) return read.text;
      throw new Error(`${file.info.path} has only ${read.lines} lines; start_line was ${start_line}.`);
    },
  });
}

interface Wanted {
  readonly start_line: number;
  readonly end_line: number;
  readonly maxChars: number;
  readonly path: string;
}

async function readLines(stream: AsyncIterable<Buffer>, wanted: Wanted) {
  const decoder = new TextDecoder();
  let text = "";
  /** The line that the next character belongs to, and how many began. */
  let number = 1;
  for await (const chunk of stream) {
    if (chunk.includes(0)) throw new Error(`${wanted.path} is not a text file: use view_image or bash.`);
    const decoded = decoder.decode(chunk, { stream: true });
    for (let at = 0; at < decoded.length; ) {
      const newline = decoded.indexOf("\n", at);
      const end = newline === -1 ? decoded.length : newline + 1;
      if (number >= wanted.start_line) text += decoded.slice(at, end);
      if (text.length > wanted.maxChars) return { text: cut(text, wanted), isCut: true, lines: number };
      if (newline !== -1) number += 1;
      if (number > wanted.end_line) return { text, isCut: false, lines: number };
      at = end;
    }
  }
  text += decoder.decode();
  return { text, isCut: false, lines: number };
}

/** Whole lines that fit, and where to go on. */
function cut(text: string, { maxChars, start_line }: Wanted): string {
  const end = text.lastIndexOf("\n", maxChars);
  if (end <= 0) {
    const kept = text.slice(0, maxChars).toWellFormed();
    return `${kept}\n[... line ${start_line} is longer than ${maxChars} characters: use bash to read parts of it ...]`;
  }
  const next = start_line + text.slice(0, end + 1).split("\n").length - 1;
  return `${text.slice(0, end)}\n[... cut after ${maxChars} characters: read on with start_line ${next} ...]`;
}
