// Whatever a framework puts into a stream becomes plain JSON data here, in this one place: a new wrapper class is a
// branch more. Never throws; what cannot be read is marked in its place, and everything beside it stays.
import { types } from "node:util";
import { BaseMessage } from "@langchain/core/messages";
import { messageFields } from "../db/serializer.ts";
import { type Fields, isFields } from "../events/fields.ts";

/** Deeper than this is cut: JSON of endless depth could be neither written nor read. */
const MAX_DEPTH = 200;
const UNREADABLE = "[Unreadable]";

/** Plain JSON data: null, booleans, finite numbers, strings, lists, and objects of such. Never throws. */
export const toPlain = (value: unknown): unknown => plain(value, []);

/**
 * The same as an object, as an interface expects a payload: nothing is `{}`, a text or bytes are `{ text }`, and what is
 * neither that nor an object is `{ repr }`. Never throws.
 */
export function toRecord(value: unknown): Fields {
  if (value === null || value === undefined) return {};
  if (isBytes(value)) return { text: new TextDecoder().decode(value) };
  const data = toPlain(value);
  if (typeof data === "string" && (typeof value === "string" || types.isStringObject(value)))
    return { text: data };
  return isFields(data) ? data : { repr: typeof data === "string" ? data : JSON.stringify(data) };
}

function plain(value: unknown, above: readonly object[]): unknown {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) ? value : String(value);
    case "bigint":
    case "symbol":
      return value.toString();
  }
  if (value === null || value === undefined) return null;
  if (above.includes(value)) return "[Circular]";
  if (above.length >= MAX_DEPTH) return "[Too deep]";
  try {
    return typeof value === "function" ? `[Function ${value.name}]` : fromObject(value, [...above, value]);
  } catch {
    // A proxy may throw at everything that is asked of it.
    return UNREADABLE;
  }
}

function fromObject(value: object, above: readonly object[]): unknown {
  if (Array.isArray(value)) return Array.from(value, (item) => plain(item, above));
  const fields = (entries: Iterable<readonly [unknown, unknown]>) =>
    Object.fromEntries(Array.from(entries, ([key, item]) => [String(key), plain(item, above)]));
  if (BaseMessage.isInstance(value)) {
    const entries = Object.entries({ ...messageFields(value), type: value.type });
    return fields(entries.filter(([, item]) => item !== undefined));
  }
  if (value instanceof Error) {
    const { name, message, stack, cause } = value;
    const known = { name, message, class: value.constructor.name, stack };
    return fields(Object.entries(cause === undefined ? known : { ...known, cause }));
  }
  if (value instanceof Map) return fields(value);
  if (value instanceof Set) return Array.from(value, (item) => plain(item, above));
  if (isBytes(value)) return toBase64(value);
  const own = toOwnJson(value);
  return own === undefined ? fields(readFields(value)) : plain(own.json, above);
}

/** What the object itself says it is; undefined when it says nothing, fails, or says no more than its class. */
function toOwnJson(value: object): { readonly json: unknown } | undefined {
  try {
    const { toJSON } = value as { toJSON?: unknown };
    if (typeof toJSON !== "function") return undefined;
    const json: unknown = toJSON.call(value, "");
    if (json === value) return undefined;
    if (!isFields(json) || json.lc !== 1) return { json };
    return json.type === "constructor" ? { json: json.kwargs } : undefined;
  } catch {
    return undefined;
  }
}

/** Fields one by one: a getter that throws takes none of the others with it. What an instance calls private stays so. */
function* readFields(value: object): Generator<readonly [string, unknown]> {
  const prototype: unknown = Object.getPrototypeOf(value);
  const isInstance = prototype !== null && prototype !== Object.prototype;
  for (const key of Object.keys(value)) {
    if (isInstance && key.startsWith("_")) continue;
    let item: unknown;
    try {
      item = (value as Fields)[key];
    } catch {
      item = UNREADABLE;
    }
    if (item !== undefined) yield [key, item];
  }
}

const isBytes = (value: unknown): value is ArrayBuffer | NodeJS.ArrayBufferView =>
  types.isArrayBuffer(value) || ArrayBuffer.isView(value);

const toBase64 = (bytes: ArrayBuffer | NodeJS.ArrayBufferView) =>
  (bytes instanceof ArrayBuffer
    ? Buffer.from(bytes)
    : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  ).toString("base64");
