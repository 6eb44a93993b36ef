// The process that reads one file and ends: bytes on standard input, the answer as JSON on standard output. It has no
// environment, and may neither write files nor start anything; its parent kills it when it takes too long.
import { buffer } from "node:stream/consumers";
import { type ReadLimits, UnreadableFile } from "./file-report.ts";
import { readContent } from "./read-content.ts";

const [filename = "", limits = ""] = process.argv.slice(2);
const answer = await readContent(
  await buffer(process.stdin),
  filename,
  JSON.parse(limits) as ReadLimits,
).then(
  (report) => ({ report }),
  (error: unknown) => {
    if (error instanceof UnreadableFile) return { reason: error.message };
    throw error;
  },
);
process.stdout.write(JSON.stringify(answer));
