import { deflateRawSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { packedSpaces, pdfOf, workbookParts, zipOf } from "../../../../test/helpers/office-files.ts";
import { READ_LIMITS, type ReadLimits } from "./file-report.ts";
import { readUpload } from "./read-upload.ts";

const read = (filename: string, content: string | Buffer, limits: Partial<ReadLimits> = {}) =>
  readUpload({ filename, bytes: Buffer.from(content) }, { ...READ_LIMITS, ...limits });

test.each([
  ["rain.csv", "a,b\n1,2\n", "csv"],
  ["rain.xlsx", zipOf(workbookParts({ A: [["x"], [1]] })), "excel"],
  ["rain.pdf", pdfOf(["Rain"]), "pdf"],
])("%s is read in a process of its own", async (filename, content, format) => {
  expect(await read(filename, content)).toMatchObject({ format });
});

test("a file is known by its name whatever stands in it", async () => {
  expect(await read("--eval=1 $(id) 'x'.csv", "a\n1\n")).toMatchObject({ format: "csv" });
});

test("a large table fits into the bounds", async () => {
  const rows = Array.from({ length: 300_000 }, (_, index) => `${index},town ${index % 50},${index / 7}`);
  const { tables } = await read("a.csv", `n,town,x\n${rows.join("\n")}\n`);
  expect(tables[0]?.rows).toBe(300_000);
});

test("a large workbook fits into the bounds", async () => {
  const rows = Array.from({ length: 40_000 }, (_, index) => [index, `town ${index % 50}`, index / 7]);
  const { tables } = await read("a.xlsx", zipOf(workbookParts({ A: [["n", "town", "x"], ...rows] })));
  expect(tables[0]?.rows).toBe(40_000);
});

describe("a hostile file ends its process, and nothing else", () => {
  const MEBIBYTES = 1200;
  const workbook = (bytes: number) =>
    zipOf({
      ...workbookParts({ A: [["x"]] }),
      "xl/worksheets/sheet1.xml": { packed: packedSpaces(MEBIBYTES), bytes },
    });

  test.each([
    ["unpacks to a gigabyte", MEBIBYTES * 1024 ** 2, /allocation failed|more than 1024 MiB of memory/],
    ["unpacks to more than it says", 1000, /not a readable Excel workbook/],
  ])("a workbook that %s", async (_what, bytes, reason) => {
    await expect(read("a.xlsx", workbook(bytes))).rejects.toThrow(reason);
  });

  test("a PDF whose page unpacks to a gigabyte", async () => {
    const page = (packed: Buffer) => pdfOf(["Text"], "", Buffer.concat([Buffer.from([0x78, 0x9c]), packed]));
    const small = page(deflateRawSync("BT /F1 12 Tf (Packed) Tj ET"));
    expect(await read("a.pdf", small)).toMatchObject({ preview: "Packed" });
    await expect(read("a.pdf", page(packedSpaces(MEBIBYTES)))).rejects.toThrow(
      /more than 1024 MiB of memory/,
    );
  });

  test("one that takes too long", async () => {
    await expect(read("a.csv", "a\n1\n", { seconds: 0.001 })).rejects.toThrow("within 0.001 seconds");
  });
});

test("a file that is too large is not read at all", async () => {
  await expect(read("a.csv", "a,b\n", { maxBytes: 3 })).rejects.toThrow(/^It is larger than 0 MiB\.$/);
});

test("a run that is cancelled stops reading", async () => {
  const upload = { filename: "a.csv", bytes: Buffer.from("a\n1\n") };
  const stop = new AbortController();
  const reading = readUpload(upload, READ_LIMITS, stop.signal);
  stop.abort(new Error("cancelled"));
  await expect(reading).rejects.toThrow("cancelled");
});
