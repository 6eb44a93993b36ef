// Rows to a report, one by one: what CSV, Excel and JSON have in common. The first row is the header.
import Papa from "papaparse";
import { type FileReport, PREVIEW_CHARS, type ReadLimits, type Table } from "./file-report.ts";
import { describeTable, profileTable, type TableProfile } from "./table-profile.ts";

const PREVIEW_ROWS = 10;

export interface TableReader {
  /** False when no further row will be read. */
  add(row: readonly string[]): boolean;
  finish(): { readonly table: Table; readonly preview: string; readonly cut: readonly string[] };
}

export function createTableReader(name: string, limits: ReadLimits): TableReader {
  const shown: (readonly string[])[] = [];
  const cut: string[] = [];
  let profile: TableProfile | undefined;
  let rows = 0;
  return {
    add(cells) {
      const row = cells.slice(0, limits.maxColumns);
      if (shown.length <= PREVIEW_ROWS) shown.push(profile ? row : toHeader(row));
      if (!profile) {
        profile = profileTable(name, shown[0] ?? []);
        if (cells.length > row.length) cut.push(`Only the first ${limits.maxColumns} columns were read.`);
        return true;
      }
      if (++rows > limits.maxRows) {
        cut.push(`Only the first ${limits.maxRows} rows were read.`);
        return false;
      }
      profile.add(row);
      return true;
    },
    finish: () => ({
      table: profile?.finish() ?? { name, rows: 0, columns: [] },
      preview: Papa.unparse(shown as string[][]),
      cut,
    }),
  };
}

interface NamedRows {
  readonly name: string;
  readonly rows: readonly (readonly string[])[];
}

/** Several tables of one file, and the longest of them as CSV for commands that read nothing else. */
export function reportTables(
  format: "excel" | "json",
  tables: readonly NamedRows[],
  limits: ReadLimits,
): FileReport {
  const read = tables.map(({ name, rows }) => {
    const reader = createTableReader(name, limits);
    for (const row of rows) if (!reader.add(row)) break;
    return reader.finish();
  });
  const [longest] = tables.toSorted((one, other) => other.rows.length - one.rows.length);
  const text = Papa.unparse((longest?.rows.slice(0, limits.maxRows + 1) ?? []) as string[][]);
  const isWhole = text.length <= limits.maxChars;
  const cut = read.flatMap((one) => one.cut);
  if (longest && tables.length > 1) cut.push(`The CSV for commands has the sheet ${longest.name} alone.`);
  if (!isWhole) cut.push("It is too large to be turned into CSV.");
  return {
    format,
    description: read.map(({ table }) => describe(table)).join("\n"),
    preview: toPreview(read.map(({ preview }) => preview).join("\n\n")),
    tables: read.map(({ table }) => table),
    cut,
    ...(isWhole ? { converted: { extension: ".csv", text } } : {}),
  };
}

export const toPreview = (text: string) => text.slice(0, PREVIEW_CHARS).toWellFormed();

export function describe(table: Table): string {
  const title = table.name === "" ? "A table of" : `Sheet ${table.name}: a table of`;
  return `${title} ${describeTable(table)}.`;
}

/** A name for each column, each name once. */
function toHeader(cells: readonly string[]): string[] {
  const names = new Set<string>();
  for (const [index, cell] of cells.entries()) {
    const plain = cell.trim().slice(0, 100).toWellFormed() || `column_${index + 1}`;
    let name = plain;
    for (let copy = 2; names.has(name); copy++) name = `${plain}_${copy}`;
    names.add(name);
  }
  return [...names];
}
