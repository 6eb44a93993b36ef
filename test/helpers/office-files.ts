// Excel workbooks and PDFs as small as they can be, written by hand: also such that no program would write.
import { constants, crc32, deflateRawSync } from "node:zlib";

/** Raw deflated data that unpacks to so many spaces, without ever holding them. */
export function packedSpaces(mebibytes: number): Buffer {
  const chunk = deflateRawSync(Buffer.alloc(1024 ** 2, 32), { finishFlush: constants.Z_FULL_FLUSH });
  return Buffer.concat([...Array.from({ length: mebibytes }, () => chunk), deflateRawSync(Buffer.alloc(0))]);
}

/** What is deflated already, and what it claims to unpack to. */
interface Packed {
  readonly packed: Buffer;
  readonly bytes: number;
}

export function zipOf(entries: Readonly<Record<string, string | Packed>>): Buffer {
  const parts: Buffer[] = [];
  const directory: Buffer[] = [];
  let offset = 0;
  for (const [name, content] of Object.entries(entries)) {
    const { packed, bytes } =
      typeof content === "string"
        ? { packed: deflateRawSync(content), bytes: Buffer.byteLength(content) }
        : content;
    const shared = Buffer.alloc(26);
    shared.writeUInt16LE(20, 0);
    shared.writeUInt16LE(8, 4);
    if (typeof content === "string") shared.writeUInt32LE(crc32(content), 10);
    shared.writeUInt32LE(packed.length, 14);
    shared.writeUInt32LE(bytes, 18);
    shared.writeUInt16LE(name.length, 22);
    const local = Buffer.concat([Buffer.from("PK\x03\x04"), shared, Buffer.from(name), packed]);
    const tail = Buffer.alloc(14);
    tail.writeUInt32LE(offset, 10);
    directory.push(Buffer.concat([Buffer.from("PK\x01\x02\x14\x00"), shared, tail, Buffer.from(name)]));
    parts.push(local);
    offset += local.length;
  }
  const central = Buffer.concat(directory);
  const end = Buffer.alloc(22);
  end.write("PK\x05\x06");
  end.writeUInt16LE(directory.length, 8);
  end.writeUInt16LE(directory.length, 10);
  end.writeUInt32LE(central.length, 12);
  end.writeUInt32LE(offset, 16);
  return Buffer.concat([...parts, central, end]);
}

type Cell = string | number;
const XML = '<?xml version="1.0" encoding="UTF-8" standalone="yes"?>';
const MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"';
const RELATIONS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships";

/** The parts of a workbook with these sheets, by name. */
export function workbookParts(sheets: Readonly<Record<string, readonly (readonly Cell[])[]>>) {
  const names = Object.keys(sheets);
  const list = names.map(
    (name, index) => `<sheet name="${name}" sheetId="${index + 1}" r:id="rId${index + 1}"/>`,
  );
  const relations = names.map(
    (_, index) =>
      `<Relationship Id="rId${index + 1}" Type="${RELATIONS}/worksheet" Target="worksheets/sheet${index + 1}.xml"/>`,
  );
  const parts: Record<string, string> = {
    "[Content_Types].xml": `${XML}<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
    "xl/workbook.xml": `${XML}<workbook ${MAIN} xmlns:r="${RELATIONS}"><sheets>${list.join("")}</sheets></workbook>`,
    "xl/_rels/workbook.xml.rels": `${XML}<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">${relations.join("")}</Relationships>`,
  };
  for (const [index, rows] of Object.values(sheets).entries()) {
    parts[`xl/worksheets/sheet${index + 1}.xml`] =
      `${XML}<worksheet ${MAIN}><sheetData>${rows.map(toRow).join("")}</sheetData></worksheet>`;
  }
  return parts;
}

function toRow(cells: readonly Cell[], row: number): string {
  const written = cells.map((cell, column) => {
    const place = `${String.fromCharCode(65 + column)}${row + 1}`;
    if (typeof cell === "number") return `<c r="${place}"><v>${cell}</v></c>`;
    return `<c r="${place}" t="inlineStr"><is><t>${cell}</t></is></c>`;
  });
  return `<row r="${row + 1}">${written.join("")}</row>`;
}

/** A PDF with a line of text on each page; `extra` joins the trailer. `packed`, deflated, is what each page draws. */
export function pdfOf(pages: readonly string[], extra = "", packed?: Buffer): Buffer {
  const kids = pages.map((_, index) => `${4 + index * 2} 0 R`).join(" ");
  const objects = [
    "<</Type/Catalog/Pages 2 0 R>>",
    `<</Type/Pages/Kids[${kids}]/Count ${pages.length}>>`,
    "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
    ...pages.flatMap((text, index) => {
      const drawn = text === "" ? "" : `BT /F1 12 Tf 72 720 Td (${text}) Tj ET`;
      const stream = packed?.toString("latin1") ?? drawn;
      const filter = packed ? "/Filter/FlateDecode" : "";
      return [
        `<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>>>/Contents ${5 + index * 2} 0 R>>`,
        `<</Length ${stream.length}${filter}>>stream\n${stream}\nendstream`,
      ];
    }),
  ];
  let text = "%PDF-1.4\n";
  const offsets = objects.map((object, index) => {
    const offset = text.length;
    text += `${index + 1} 0 obj${object}endobj\n`;
    return `${String(offset).padStart(10, "0")} 00000 n \n`;
  });
  const start = text.length;
  const size = objects.length + 1;
  text += `xref\n0 ${size}\n0000000000 65535 f \n${offsets.join("")}`;
  text += `trailer<</Size ${size}/Root 1 0 R${extra}>>\nstartxref\n${start}\n%%EOF`;
  return Buffer.from(text, "latin1");
}

/** What makes a PDF ask for a password: nobody's fits. */
export const LOCKED_TRAILER = `/ID[<${"ab".repeat(16)}><${"ab".repeat(16)}>]/Encrypt<</Filter/Standard/V 1/R 2/Length 40/P -4/O<${"11".repeat(32)}>/U<${"22".repeat(32)}>>>`;

/** The beginning of what Office makes of a workbook with a password. */
export const lockedWorkbook = () =>
  Buffer.concat([
    Buffer.from([0xd0, 0xcf, 0x11, 0xe0, 0xa1, 0xb1, 0x1a, 0xe1]),
    Buffer.alloc(1024),
    Buffer.from("EncryptedPackage", "utf16le"),
    Buffer.alloc(1024),
  ]);
