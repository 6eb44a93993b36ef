// Which reader a file gets: by its first bytes where they tell, by its name otherwise. Runs in a process of its own
// (read-process.ts), because a hostile file may take any time and memory.
import path from "node:path";
import { decodeText } from "./decode-text.ts";
import { type FileReport, type ReadLimits, UnreadableFile } from "./file-report.ts";
import { readCsv } from "./read-csv.ts";
import { readExcel, refuseOldContainer } from "./read-excel.ts";
import { readJson, readJsonLines } from "./read-json.ts";
import { readPdf } from "./read-pdf.ts";
import { readText } from "./read-text.ts";

const PDF = Buffer.from("%PDF-");
const ZIP = Buffer.from("PK\x03\x04");
const OLD_CONTAINER = Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]);

const BY_EXTENSION: Readonly<Record<string, (text: string, limits: ReadLimits) => FileReport>> = {
  ".csv": readCsv,
  ".tsv": readCsv,
  ".tab": readCsv,
  ".json": readJson,
  ".geojson": readJson,
  ".jsonl": readJsonLines,
  ".ndjson": readJsonLines,
  ".md": (text) => readText(text, "markdown"),
  ".markdown": (text) => readText(text, "markdown"),
};

/** @throws UnreadableFile with the reason */
export async function readContent(bytes: Buffer, filename: string, limits: ReadLimits): Promise<FileReport> {
  if (bytes.length === 0) throw new UnreadableFile("It is empty.");
  // Some writers put a few bytes before it.
  if (bytes.subarray(0, 1024).includes(PDF)) return readPdf(bytes, limits);
  if (startsWith(bytes, OLD_CONTAINER)) return refuseOldContainer(bytes);
  if (startsWith(bytes, ZIP)) return readExcel(bytes, limits);
  const extension = path.extname(filename).toLowerCase();
  if ([".pdf", ".xlsx", ".xls"].includes(extension)) {
    throw new UnreadableFile(`It is not what its name says: its content is no ${extension} file.`);
  }
  const read = BY_EXTENSION[extension] ?? ((text: string) => readText(text, "text"));
  return read(decodeText(bytes), limits);
}

const startsWith = (bytes: Buffer, mark: Buffer) => bytes.subarray(0, mark.length).equals(mark);
