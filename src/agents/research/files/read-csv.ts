// CSV and its like: the separator is found out. Rows go by one at a time, so that memory does not grow with them.
import Papa from "papaparse";
import { type FileReport, type ReadLimits, UnreadableFile } from "./file-report.ts";
import { createTableReader, describe, toPreview } from "./read-table.ts";

/** @throws UnreadableFile when it has no row */
export function readCsv(text: string, limits: ReadLimits): FileReport {
  const reader = createTableReader("", limits);
  let isEmpty = true;
  Papa.parse<string[]>(text, {
    skipEmptyLines: "greedy",
    step: ({ data }, parser) => {
      isEmpty = false;
      if (!reader.add(data)) parser.abort();
    },
  });
  if (isEmpty) throw new UnreadableFile("There is no row in it.");
  const { table, preview, cut } = reader.finish();
  return {
    format: "csv",
    description: describe(table),
    preview: toPreview(preview),
    tables: [table],
    cut: [...cut],
  };
}
