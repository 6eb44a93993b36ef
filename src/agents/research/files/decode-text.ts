// Bytes to text: UTF-8, UTF-16 with its mark, and Windows-1252 for what is neither.
import { UnreadableFile } from "./file-report.ts";

/** @throws UnreadableFile when the bytes are no text */
export function decodeText(bytes: Uint8Array): string {
  const [first, second] = bytes;
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  if (bytes.includes(0)) throw new UnreadableFile("It is not a text: there are NUL bytes in it.");
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
