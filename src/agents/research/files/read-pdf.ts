// PDF: the text of its pages. Pictures are not read, so a scan has none.
import { getDocumentProxy } from "unpdf";
import { type FileReport, type ReadLimits, UnreadableFile } from "./file-report.ts";
import { toPreview } from "./read-table.ts";

type Document = Awaited<ReturnType<typeof getDocumentProxy>>;

/** @throws UnreadableFile when it is locked, broken, or has no text */
export async function readPdf(bytes: Buffer, limits: ReadLimits): Promise<FileReport> {
  const document = await open(bytes);
  const pages = Math.min(document.numPages, limits.maxPages);
  const cut: string[] = [];
  if (pages < document.numPages) cut.push(`Only the first ${pages} of ${document.numPages} pages were read.`);
  let text = "";
  for (let number = 1; number <= pages; number++) {
    text += `${await readPage(document, number)}\n\n`;
    if (text.length <= limits.maxChars) continue;
    cut.push(`Only the first ${limits.maxChars.toLocaleString("en")} characters were read.`);
    break;
  }
  text = text.slice(0, limits.maxChars).toWellFormed().trim();
  if (text === "") throw new UnreadableFile("There is no text in it; its pages may be pictures.");
  return {
    format: "pdf",
    description: `A PDF of ${document.numPages} pages, ${text.length.toLocaleString("en")} characters of text.`,
    preview: toPreview(text),
    tables: [],
    cut,
    converted: { extension: ".txt", text },
  };
}

async function open(bytes: Buffer): Promise<Document> {
  try {
    // Errors only: the process answers on its standard output.
    return await getDocumentProxy(new Uint8Array(bytes), { verbosity: 0 });
  } catch (error) {
    if (error instanceof Error && error.name === "PasswordException") {
      throw new UnreadableFile("It is protected by a password.");
    }
    throw new UnreadableFile(`It is not a readable PDF: ${error instanceof Error ? error.message : error}`);
  }
}

async function readPage(document: Document, number: number): Promise<string> {
  try {
    const page = await document.getPage(number);
    const { items } = await page.getTextContent();
    page.cleanup();
    return items.map((item) => ("str" in item ? item.str + (item.hasEOL ? "\n" : "") : "")).join("");
  } catch (error) {
    throw new UnreadableFile(`Page ${number} is broken: ${error instanceof Error ? error.message : error}`);
  }
}
