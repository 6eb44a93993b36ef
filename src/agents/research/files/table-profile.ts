// Describes a table while its rows go by: what each column holds. Memory depends on the columns, not on the rows.
import type { Column, Table } from "./file-report.ts";

const MAX_EXAMPLES = 5;
const MAX_CELL_CHARS = 80;
const MISSING = new Set(["", "na", "n/a", "nan", "null", "none", "-"]);
const NUMBER = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i;
const DATE = /^\d{4}-\d{2}(-\d{2})?([T ][\d:.]+(Z|[+-]\d{2}:?\d{2})?)?$|^\d{1,2}[./]\d{1,2}[./]\d{4}$/;
const BOOLEAN = /^(true|false|yes|no)$/i;

type Kind = "number" | "date" | "boolean" | "text";

interface Tally {
  missing: number;
  readonly kinds: Record<Kind, number>;
  min: number;
  max: number;
  sum: number;
  readonly examples: Set<string>;
}

export interface TableProfile {
  add(row: readonly string[]): void;
  finish(): Table;
}

export function profileTable(name: string, header: readonly string[]): TableProfile {
  const tallies = header.map(
    (): Tally => ({
      missing: 0,
      kinds: { number: 0, date: 0, boolean: 0, text: 0 },
      min: Number.POSITIVE_INFINITY,
      max: Number.NEGATIVE_INFINITY,
      sum: 0,
      examples: new Set(),
    }),
  );
  let rows = 0;
  return {
    add(row) {
      rows++;
      for (const [index, tally] of tallies.entries()) count(tally, (row[index] ?? "").trim());
    },
    finish: () => ({
      name,
      rows,
      columns: tallies.map((tally, index) => toColumn(header[index] ?? "", tally)),
    }),
  };
}

function count(tally: Tally, cell: string): void {
  if (MISSING.has(cell.toLowerCase())) {
    tally.missing++;
    return;
  }
  const kind = kindOf(cell);
  tally.kinds[kind]++;
  if (tally.examples.size < MAX_EXAMPLES) tally.examples.add(cell.slice(0, MAX_CELL_CHARS).toWellFormed());
  if (kind !== "number") return;
  const value = Number(cell);
  tally.min = Math.min(tally.min, value);
  tally.max = Math.max(tally.max, value);
  tally.sum += value;
}

function kindOf(cell: string): Kind {
  // Longer ones are text, whatever they hold; and no pattern has to look at a megabyte.
  if (cell.length > 40) return "text";
  if (NUMBER.test(cell)) return "number";
  if (BOOLEAN.test(cell)) return "boolean";
  return DATE.test(cell) ? "date" : "text";
}

function toColumn(name: string, { missing, kinds, min, max, sum, examples }: Tally): Column {
  const found = (Object.entries(kinds) as [Kind, number][]).filter(([, number]) => number > 0);
  const [only, ...others] = found.map(([kind]) => kind);
  const type = only === undefined ? "empty" : others.length === 0 ? only : "text";
  const hasFigures = type === "number" && [min, max, sum].every(Number.isFinite);
  const figures = hasFigures ? { min, max, mean: sum / kinds.number } : {};
  return { name, type, missing, ...figures, examples: [...examples] };
}

/** As in: 5,000 rows, 3 columns: year (number, 1990 to 2020), town (text), … */
export function describeTable({ rows, columns }: Table): string {
  const shown = columns.slice(0, 40).map(describeColumn);
  if (columns.length > shown.length) shown.push(`and ${columns.length - shown.length} more`);
  const amount = `${rows.toLocaleString("en")} rows, ${columns.length} columns`;
  return shown.length === 0 ? amount : `${amount}: ${shown.join("; ")}`;
}

function describeColumn({ name, type, min, max, missing, examples }: Column): string {
  const range = min === undefined ? "" : `, ${min} to ${max}`;
  const holes = missing === 0 ? "" : `, ${missing} missing`;
  const like = type === "text" && examples.length > 0 ? `, such as ${examples.slice(0, 3).join(", ")}` : "";
  return `${name} (${type}${range}${like}${holes})`;
}
