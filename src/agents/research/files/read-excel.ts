// Excel workbooks: all sheets of an .xlsx. The old binary form, and one that a password locks, say so.
import readWorkbook from "read-excel-file/node";
import { type FileReport, type ReadLimits, UnreadableFile } from "./file-report.ts";
import { reportTables } from "./read-table.ts";

/** A locked .xlsx is no zip file, but a container of the old form with a stream of this name, in UTF-16. */
const LOCKED = Buffer.from("EncryptedPackage", "utf16le");

/** @throws UnreadableFile */
export async function readExcel(bytes: Buffer, limits: ReadLimits): Promise<FileReport> {
  const sheets = await readWorkbook(bytes).catch((error: unknown) => {
    throw new UnreadableFile(`It is not a readable Excel workbook: ${firstLine(error)}`);
  });
  const tables = sheets
    .map(({ sheet, data }) => ({ name: sheet, rows: data.map((row) => row.map(toText)) }))
    .filter(({ rows }) => rows.length > 0);
  if (tables.length === 0) throw new UnreadableFile("The workbook has no filled sheet.");
  return reportTables("excel", tables, limits);
}

/** Why a file in Microsoft's old container cannot be read. */
export function refuseOldContainer(bytes: Buffer): never {
  if (bytes.includes(LOCKED)) throw new UnreadableFile("It is protected by a password.");
  throw new UnreadableFile("It is in an old Office format (.xls, .doc): save it as .xlsx, .csv or .pdf.");
}

function toText(cell: unknown): string {
  if (cell === null || cell === undefined) return "";
  if (!(cell instanceof Date)) return String(cell);
  // A day without a time is stored as midnight.
  return cell.toISOString().replace(/T00:00:00\.000Z$/, "");
}

function firstLine(error: unknown): string {
  return (
    String(error instanceof Error ? error.message : error)
      .split("\n")[0]
      ?.slice(0, 200) ?? ""
  );
}
