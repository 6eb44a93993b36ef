// The header If-Match (RFC 9110, 13.1.1), where a tag is a version's number. Pure.
import { AppError } from "../errors.ts";

const TAG = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/;

/**
 * The versions that a change may be made at; undefined: any. A tag that is none of ours, or a weak one, matches nothing.
 * @throws AppError invalid_request when it is no list of tags
 */
export function ifMatch(header: string | undefined): number[] | undefined {
  if (header === undefined || header.trim() === "*") return undefined;
  const tags = header.split(",").map((tag) => TAG.exec(tag));
  if (tags.includes(null)) {
    throw new AppError("invalid_request", 'If-Match is what ETag was, with its quotes: "7", or *.');
  }
  return tags.flatMap((tag) => (!tag?.[1] && /^\d{1,15}$/.test(tag?.[2] ?? "") ? [Number(tag?.[2])] : []));
}
