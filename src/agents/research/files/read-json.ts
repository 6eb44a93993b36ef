// JSON and JSON lines. A list of objects is a table, everything else is described by its keys.
import { type FileReport, type ReadLimits, UnreadableFile } from "./file-report.ts";
import { reportTables, toPreview } from "./read-table.ts";

/** @throws UnreadableFile when it is no JSON */
export function readJson(text: string, limits: ReadLimits): FileReport {
  return report(parse(text), text, limits);
}

/** One JSON value a line. @throws UnreadableFile naming the line that is none */
export function readJsonLines(text: string, limits: ReadLimits): FileReport {
  const lines = text.split(/\r?\n/).flatMap((line, index) => (line.trim() === "" ? [] : [{ line, index }]));
  if (lines.length === 0) throw new UnreadableFile("There is no line in it.");
  const values = lines.map(({ line, index }) => parse(line, `Line ${index + 1}`));
  return report(values, text, limits);
}

function parse(text: string, what = "It"): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new UnreadableFile(`${what} is not JSON: ${error instanceof Error ? error.message : error}`);
  }
}

function report(value: unknown, text: string, limits: ReadLimits): FileReport {
  if (isTable(value)) return reportTables("json", [{ name: "", rows: toRows(value, limits) }], limits);
  const description = Array.isArray(value)
    ? `A JSON list of ${value.length.toLocaleString("en")} values.`
    : `A JSON ${describeKeys(value)}.`;
  return { format: "json", description, preview: toPreview(text), tables: [], cut: [] };
}

type Row = Readonly<Record<string, unknown>>;

function isTable(value: unknown): value is Row[] {
  return Array.isArray(value) && value.length > 0 && value.every(isRecord);
}

function isRecord(value: unknown): value is Row {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** A column for each key that any row has, in the order of first use. */
function toRows(rows: readonly Row[], { maxColumns }: ReadLimits): string[][] {
  const names = new Set<string>();
  // One more than is read, so that it is said.
  for (const key of rows.flatMap(Object.keys)) if (names.size <= maxColumns) names.add(key);
  const keys = [...names];
  return [keys, ...rows.map((row) => keys.map((key) => toCell(row[key])))];
}

function toCell(value: unknown): string {
  if (value === null || value === undefined) return "";
  return typeof value === "object" ? JSON.stringify(value) : String(value);
}

function describeKeys(value: unknown): string {
  if (!isRecord(value)) return typeof value === "object" ? "null" : typeof value;
  const keys = Object.keys(value);
  const shown = keys.slice(0, 30).map((key) => key.slice(0, 60).toWellFormed());
  return `object with ${keys.length} keys: ${shown.join(", ")}${keys.length > shown.length ? ", …" : ""}`;
}
