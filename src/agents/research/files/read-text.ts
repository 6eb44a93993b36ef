// Text and Markdown: how long it is, and how it is divided.
import { type FileReport, UnreadableFile } from "./file-report.ts";
import { toPreview } from "./read-table.ts";

const MAX_HEADINGS = 30;

/** @throws UnreadableFile when nothing is in it */
export function readText(text: string, format: "text" | "markdown"): FileReport {
  if (text.trim() === "") throw new UnreadableFile("There is nothing in it.");
  const lines = text.split("\n");
  const headings = format === "markdown" ? findHeadings(lines) : [];
  const outline = headings.length === 0 ? "" : ` Headings: ${headings.join("; ")}.`;
  const name = format === "markdown" ? "A Markdown text" : "A text";
  return {
    format,
    description: `${name} of ${lines.length.toLocaleString("en")} lines, ${text.length.toLocaleString("en")} characters.${outline}`,
    preview: toPreview(text),
    tables: [],
    cut: [],
  };
}

function findHeadings(lines: readonly string[]): string[] {
  const headings: string[] = [];
  let isCode = false;
  for (const line of lines) {
    if (/^ {0,3}(```|~~~)/.test(line)) isCode = !isCode;
    const heading = isCode ? undefined : /^ {0,3}#{1,6}[ \t]+(\S.{0,120})/.exec(line)?.[1];
    if (heading !== undefined) headings.push(heading.trim().toWellFormed());
    if (headings.length === MAX_HEADINGS) break;
  }
  return headings;
}
