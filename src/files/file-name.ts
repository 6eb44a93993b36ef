// What a file may be called: the rules for one segment of a path, and how a client's upload name becomes a
// safe name. Pure; knows no folder and no disk.
import { AppError } from "../errors.ts";

/** Bytes in one file name, the limit of ext4, APFS and NTFS alike. */
const MAX_NAME_BYTES = 255;

// C0, DEL, C1 and the line separators break listings and prompts. The bidirectional controls make a name
// read as another one ("gnp.exe" shown as "exe.png").
const UNSAFE = /[\p{Cc}\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/u;

/** Names that Windows keeps for devices, with or without an extension. */
const DEVICE = /^(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9\u00b9\u00b2\u00b3])(?:\.|$)/i;

/** `text` fit for an error message: short, on one line, with nothing in it that a terminal or a page obeys. */
export function quoted(text: string): string {
  const shown = text.length > 120 ? `${text.slice(0, 120)}…` : text;
  return JSON.stringify(shown.toWellFormed().replaceAll(new RegExp(UNSAFE, "gu"), "\ufffd"));
}

/** Why `segment` may not be one segment of a virtual path, or undefined when it may. */
export function faultOfSegment(segment: string): string | undefined {
  if (segment === "") return "is empty";
  if (segment === "." || segment === "..") return "is a dot segment";
  if (segment.includes("/") || segment.includes("\\")) return "has a slash or a backslash in it";
  if (!segment.isWellFormed()) return "is not valid Unicode text";
  if (UNSAFE.test(segment)) return "has control or text-direction characters in it";
  if (Buffer.byteLength(segment) > MAX_NAME_BYTES) return `is longer than ${MAX_NAME_BYTES} bytes`;
  return undefined;
}

/**
 * The name under which an upload is kept, from the name the client sent. Composed to NFC, trimmed, without what
 * Windows or a tag in a prompt would read as more than a name. Refuses, with `invalid_file_name`, whatever is
 * a path, hides something or leaves no name: a refused upload is clearer than one that turns up elsewhere.
 */
export function toSafeFileName(name: string): string {
  const fault = faultOfSegment(name);
  if (fault !== undefined) throw invalidName(name, fault);
  const safe = name
    .normalize("NFC")
    .replaceAll(/[<>:"|?*]/g, "_")
    .trim()
    .replace(/[. ]+$/, "");
  const safeFault = faultOfSegment(safe);
  if (safeFault !== undefined) throw invalidName(name, safeFault);
  if (DEVICE.test(safe)) throw invalidName(name, "is the name of a device on Windows");
  return safe;
}

/** `report (2).md` for `report.md` and 2, never longer than a file name may be. */
export function numberedName(name: string, number: number): string {
  const dot = name.lastIndexOf(".");
  const extension = dot > 0 && name.length - dot <= 16 ? name.slice(dot) : "";
  const suffix = ` (${number})${extension}`;
  let stem = name.slice(0, name.length - extension.length);
  while (Buffer.byteLength(stem + suffix) > MAX_NAME_BYTES) stem = [...stem].slice(0, -1).join("");
  return stem + suffix;
}

function invalidName(name: string, fault: string): AppError {
  return new AppError("invalid_file_name", `The file name ${quoted(name)} cannot be used: it ${fault}.`);
}
