import { describe, expect, test } from "vitest";
import {
  LOCKED_TRAILER,
  lockedWorkbook,
  pdfOf,
  workbookParts,
  zipOf,
} from "../../../../test/helpers/office-files.ts";
import { READ_LIMITS, type ReadLimits } from "./file-report.ts";
import { readContent } from "./read-content.ts";

const read = (content: string | Buffer, filename: string, limits: Partial<ReadLimits> = {}) =>
  readContent(Buffer.from(content), filename, { ...READ_LIMITS, ...limits });

describe("a CSV", () => {
  test("is described column by column", async () => {
    const text =
      "town,year,rain,wet\nBonn,1990-01-01,3.5,yes\nKöln,1991-01-01,NA,no\nBonn,1992-01-01,-1,yes\n";
    const { format, description, preview, tables, cut } = await read(text, "rain.csv");
    expect(format).toBe("csv");
    expect(description).toBe(
      "A table of 3 rows, 4 columns: town (text, such as Bonn, Köln); year (date); rain (number, -1 to 3.5, 1 missing); wet (boolean).",
    );
    expect(preview).toMatch(/^town,year,rain,wet\r\nBonn/);
    expect(tables[0]?.columns[2]).toEqual({
      name: "rain",
      type: "number",
      missing: 1,
      min: -1,
      max: 3.5,
      mean: 1.25,
      examples: ["3.5", "-1"],
    });
    expect(cut).toEqual([]);
  });

  test.each([
    ["semicolons", "a;b\n1;2\n"],
    ["tabs", "a\tb\n1\t2\n"],
    ["quotes around line breaks", '"a","b"\r\n"1","two\nlines"\r\n'],
    ["a byte order mark", "\ufeffa,b\n1,2"],
  ])("may have %s", async (_what, text) => {
    const { tables } = await read(text, "a.csv");
    expect(tables[0]?.columns.map(({ name }) => name)).toEqual(["a", "b"]);
    expect(tables[0]?.rows).toBe(1);
  });

  test.each([
    ["UTF-16", Buffer.from("\ufeffname,n\nJosé,1\n", "utf16le")],
    ["Windows-1252", Buffer.from("name,n\nJosé,1\n", "latin1")],
  ])("may be in %s", async (_encoding, bytes) => {
    expect((await read(bytes, "a.csv")).tables[0]?.columns[0]?.examples).toEqual(["José"]);
  });

  test("with the same name twice, or none, has a name for each column", async () => {
    const { tables } = await read("x,x,,x\n1,2,3,4\n", "a.csv");
    expect(tables[0]?.columns.map(({ name }) => name)).toEqual(["x", "x_2", "column_3", "x_3"]);
  });

  test("that is too long or too wide is read in part, and says so", async () => {
    const text = `a,b,c\n${"1,2,3\n".repeat(100)}`;
    const { tables, cut } = await read(text, "a.csv", { maxRows: 10, maxColumns: 2 });
    expect(tables[0]).toMatchObject({ rows: 10, columns: [{ name: "a" }, { name: "b" }] });
    expect(cut).toEqual(["Only the first 2 columns were read.", "Only the first 10 rows were read."]);
  });
});

describe("an Excel workbook", () => {
  test("has all its sheets described, and the longest one as CSV", async () => {
    const sheets = {
      Notes: [["Text"], ["hello"]],
      Data: [
        ["x", "y"],
        [1, 2.5],
        [3, 4.5],
      ],
    };
    const { format, description, tables, converted, cut } = await read(
      zipOf(workbookParts(sheets)),
      "a.xlsx",
    );
    expect(format).toBe("excel");
    expect(description).toContain("Sheet Data: a table of 2 rows, 2 columns: x (number, 1 to 3)");
    expect(tables.map(({ name, rows }) => [name, rows])).toEqual([
      ["Notes", 1],
      ["Data", 2],
    ]);
    expect(converted).toEqual({ extension: ".csv", text: "x,y\r\n1,2.5\r\n3,4.5" });
    expect(cut).toEqual(["The CSV for commands has the sheet Data alone."]);
  });
});

describe("JSON", () => {
  test("that lists objects is a table, with CSV for commands", async () => {
    const { tables, converted } = await read('[{"a":1},{"b":{"c":2},"a":null}]', "a.json");
    expect(tables[0]).toMatchObject({ rows: 2, columns: [{ name: "a", missing: 1 }, { name: "b" }] });
    expect(converted?.text).toBe('a,b\r\n1,\r\n,"{""c"":2}"');
  });

  test("in lines is read line by line", async () => {
    expect((await read('{"a":1}\n\n{"a":2}\n', "a.jsonl")).tables[0]?.rows).toBe(2);
  });

  test("of any other form is described by its keys", async () => {
    expect((await read('{"a":1,"b":[]}', "a.json")).description).toBe("A JSON object with 2 keys: a, b.");
  });
});

test("Markdown has its headings told, but not what stands in code", async () => {
  const { format, description } = await read("# One\n```\n# no\n```\n## Two\n", "a.md");
  expect(format).toBe("markdown");
  expect(description).toContain("Headings: One; Two.");
});

test("any other text is a text", async () => {
  expect(await read("hello\nthere", "a.log")).toMatchObject({ format: "text", preview: "hello\nthere" });
});

describe("a PDF", () => {
  test("has the text of its pages read", async () => {
    const { description, converted } = await read(pdfOf(["First page", "Second page"]), "a.pdf");
    expect(description).toContain("A PDF of 2 pages");
    expect(converted?.text).toBe("First page\n\nSecond page");
  });

  test("of too many pages is read in part, and says so", async () => {
    const { cut, preview } = await read(pdfOf(["One", "Two", "Three"]), "a.pdf", { maxPages: 2 });
    expect(cut).toEqual(["Only the first 2 of 3 pages were read."]);
    expect(preview).toBe("One\n\nTwo");
  });
});

describe("what cannot be read says why", () => {
  test.each<[string, string | Buffer, string, RegExp]>([
    ["an empty file", "", "a.csv", /^It is empty\.$/],
    ["blank lines", "\n\n  \n", "a.csv", /^There is no row in it\.$/],
    ["a program", Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0]), "a.csv", /NUL bytes/],
    ["half a JSON", '{"a":', "a.json", /^It is not JSON: /],
    ["a broken line", '{"a":1}\n{"a"\n', "a.jsonl", /^Line 2 is not JSON: /],
    ["a locked workbook", lockedWorkbook(), "a.xlsx", /^It is protected by a password\.$/],
    ["an old workbook", lockedWorkbook().subarray(0, 900), "a.xls", /old Office format/],
    ["a zip file that is no workbook", zipOf({ a: "b" }), "a.xlsx", /^It is not a readable Excel workbook: /],
    [
      "half a workbook",
      zipOf(workbookParts({ A: [["x"]] })).subarray(0, 300),
      "a.xlsx",
      /not a readable Excel/,
    ],
    ["a text that calls itself a workbook", "hello", "a.xlsx", /content is no \.xlsx file/],
    ["a locked PDF", pdfOf(["Secret"], LOCKED_TRAILER), "a.pdf", /^It is protected by a password\.$/],
    ["a PDF of pictures", pdfOf(["", ""]), "a.pdf", /no text in it/],
    ["half a PDF", "%PDF-1.4\n%%EOF", "a.pdf", /^It is not a readable PDF: /],
  ])("%s", async (_what, content, filename, reason) => {
    await expect(read(content, filename)).rejects.toMatchObject({ name: "UnreadableFile", message: reason });
  });
});
