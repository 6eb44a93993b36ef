// What is known of an uploaded file once it has been read, and how much of a file is read at all. The process that
// reads and the one that asked it agree on these shapes.
import { z } from "zod";

const columnSchema = z.object({
  name: z.string(),
  type: z.enum(["number", "date", "boolean", "text", "empty"]),
  /** Cells without a value. */
  missing: z.number(),
  /** Of numbers. */
  min: z.number().optional(),
  max: z.number().optional(),
  mean: z.number().optional(),
  /** A few different values, as they stand in the file. */
  examples: z.array(z.string()),
});
export type Column = z.output<typeof columnSchema>;

const tableSchema = z.object({
  /** Name of the sheet; empty where there is only one table. */
  name: z.string(),
  /** Rows that were read, without the header. */
  rows: z.number(),
  columns: z.array(columnSchema),
});
export type Table = z.output<typeof tableSchema>;

const fileReportSchema = z.object({
  format: z.enum(["csv", "excel", "json", "markdown", "text", "pdf"]),
  /** One paragraph for a model and a person. */
  description: z.string(),
  /** The beginning, as text. */
  preview: z.string(),
  tables: z.array(tableSchema),
  /** What was not read because a limit was reached, one sentence each. */
  cut: z.array(z.string()),
  /** The content in a form that any sandbox can read, where the file itself is not. */
  converted: z.object({ extension: z.enum([".csv", ".txt"]), text: z.string() }).optional(),
});
export type FileReport = z.output<typeof fileReportSchema>;

export const readAnswerSchema = z.union([
  z.object({ report: fileReportSchema }),
  z.object({ reason: z.string() }),
]);

export interface ReadLimits {
  readonly maxBytes: number;
  readonly maxRows: number;
  readonly maxColumns: number;
  readonly maxPages: number;
  /** Of the converted text. */
  readonly maxChars: number;
  /** Of processor time, and of the clock. */
  readonly seconds: number;
  readonly memoryMb: number;
}

export const READ_LIMITS: ReadLimits = {
  maxBytes: 50 * 1024 ** 2,
  maxRows: 1_000_000,
  maxColumns: 500,
  maxPages: 500,
  maxChars: 20_000_000,
  seconds: 60,
  memoryMb: 1024,
};

export const PREVIEW_CHARS = 3_000;

/** A file that cannot be read, with the reason in words for its owner. */
export class UnreadableFile extends Error {
  override readonly name = "UnreadableFile";
}
