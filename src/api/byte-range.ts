// The Range header (RFC 9110 §14.2), as far as a download needs it: one range of bytes.
import { AppError } from "../errors.ts";

export interface ByteRange {
  /** Both included. */
  readonly start: number;
  readonly end: number;
}

/**
 * The range asked for; undefined for the whole file, which is also the answer to several ranges and to what is no range
 * of bytes. @throws AppError range_not_satisfiable
 */
export function parseRange(header: string | undefined, size: number): ByteRange | undefined {
  const match = header?.trim().match(/^bytes=(\d*)-(\d*)$/);
  if (!match || (match[1] === "" && match[2] === "")) return undefined;
  const [first, last] = [match[1] ?? "", match[2] ?? ""];
  const start = first === "" ? Math.max(0, size - Number(last)) : Number(first);
  const end = first === "" || last === "" ? size - 1 : Math.min(Number(last), size - 1);
  if (first !== "" && last !== "" && Number(last) < Number(first)) return undefined;
  if (start >= size || (first === "" && Number(last) === 0)) {
    throw new AppError("range_not_satisfiable", `The file has ${size} bytes; ${header} lies outside.`, {
      details: { size },
    });
  }
  return { start, end };
}
