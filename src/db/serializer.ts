// How state becomes bytes and comes back. The format is the official JsonPlusSerializer's, so that either side reads
// the other, with two differences: only the classes listed here are ever made from data, and an object of a user that
// looks like a record (it has a key "lc") is stored with that key escaped, so that it comes back as the data it was.
// Never throws on what it finds: an unknown or broken record is data.
import { Document } from "@langchain/core/documents";
import {
  AIMessage,
  AIMessageChunk,
  BaseMessage,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { DeltaSnapshot, type SerializerProtocol } from "@langchain/langgraph-checkpoint";

type Fields = Record<string, unknown>;

// Only constructors of plain data: none of them opens, fetches or runs anything.
const MESSAGES = new Map<string, new (fields: never) => BaseMessage>(
  [
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
  ].map((message) => [message.lc_name(), message]),
);

/** What is nested deeper is refused when it is written: whatever could be written can be read, on any stack. */
const MAX_DEPTH = 500;

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** For PostgresSaver and its like. Types: "bytes" for a Uint8Array, "json" for all else. */
export function createSerializer(): SerializerProtocol {
  return {
    async dumpsTyped(value: unknown): Promise<[string, Uint8Array]> {
      return value instanceof Uint8Array ? ["bytes", value] : ["json", encoder.encode(dump(value))];
    },
    async loadsTyped(type: string, data: Uint8Array | string): Promise<unknown> {
      if (type === "bytes") return typeof data === "string" ? encoder.encode(data) : data;
      if (type === "json") return load(typeof data === "string" ? data : decoder.decode(data));
      throw new Error(`Unknown serialization type: ${type}`);
    },
  };
}

/** State to JSON text. A cycle is cut with "[Circular]". @throws RangeError when it is nested deeper than the limit */
export function dump(value: unknown): string {
  return JSON.stringify(encode(value, new Set()));
}

/** JSON text to state. */
export function load(text: string): unknown {
  return decode(JSON.parse(text));
}

function encode(value: unknown, above: Set<object>): unknown {
  if (value === undefined) return { lc: 2, type: "undefined" };
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "function" || typeof value === "symbol") return null;
  if (typeof value !== "object" || value === null) return value;
  if (above.has(value)) return "[Circular]";
  if (above.size > MAX_DEPTH) throw new RangeError(`The state is nested deeper than ${MAX_DEPTH} levels.`);
  above.add(value);
  try {
    return encodeObject(value, above);
  } finally {
    above.delete(value);
  }
}

function encodeObject(value: object, above: Set<object>): unknown {
  if (Array.isArray(value)) return value.map((item) => encode(item, above));
  if (BaseMessage.isInstance(value)) return messageRecord(value, above);
  if (value instanceof Document) {
    const { pageContent, metadata, id } = value;
    const kwargs = { page_content: pageContent, metadata, ...(id === undefined ? {} : { id }) };
    return record(["langchain_core", "documents", "document", "Document"], encodeFields(kwargs, above));
  }
  if (value instanceof Uint8Array) return builtin("Uint8Array", [Array.from(value)], "from");
  if (value instanceof Map) return builtin("Map", [Array.from(value, (entry) => encode(entry, above))]);
  if (value instanceof Set) return builtin("Set", [Array.from(value, (item) => encode(item, above))]);
  if (value instanceof RegExp) return builtin("RegExp", [value.source, value.flags]);
  if (value instanceof Error) return builtin("Error", [value.message]);
  if (value instanceof DeltaSnapshot)
    return { lc: 2, type: "delta_snapshot", value: encode(value.value, above) };
  if (isSend(value))
    return encodeFields({ node: value.node, args: value.args, timeout: value.timeout }, above);
  if ("toJSON" in value && typeof value.toJSON === "function") {
    const plain: unknown = value.toJSON();
    return plain === value ? encodeFields(value as Fields, above) : encode(plain, above);
  }
  return encodeFields(value as Fields, above);
}

/** An instance, of any copy of LangGraph: an object of a user that only looks like one keeps all its keys. */
function isSend(value: object): value is { node: unknown; args: unknown; timeout?: unknown } {
  return (
    Object.getPrototypeOf(value) !== Object.prototype &&
    "lg_name" in value &&
    value.lg_name === "Send" &&
    "node" in value &&
    "args" in value
  );
}

function encodeFields(fields: Fields, above: Set<object>): Fields {
  const encoded: Fields = {};
  for (const [key, child] of Object.entries(fields)) {
    if (child === undefined) continue;
    // A "__proto__" of the data must become a key, not the prototype.
    Object.defineProperty(encoded, escapeKey(key), {
      value: encode(child, above),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return encoded;
}

/** The fields of a message as its constructor takes them: what it got then, with the values it has now. */
export function messageFields(message: BaseMessage): Fields {
  const now: Fields = { ...message };
  const fields = Object.fromEntries(
    Object.entries(message.lc_kwargs).map(([key, value]) => [key, key in now ? now[key] : value]),
  );
  if (message.id !== undefined) fields.id = message.id;
  return fields;
}

function messageRecord(message: BaseMessage, above: Set<object>): Fields {
  const id = [...message.lc_namespace, (message.constructor as typeof BaseMessage).lc_name()];
  return record(id, encodeFields(messageFields(message), above));
}

const record = (id: string[], kwargs: Fields): Fields => ({ lc: 1, type: "constructor", id, kwargs });

const builtin = (name: string, args: unknown[], method: string | null = null): Fields => ({
  lc: 2,
  type: "constructor",
  id: [name],
  method,
  args,
  kwargs: {},
});

// "__lc_escaped__" is how @langchain/core marks a user's "lc" object inside a message that the official saver stored.
const escapeKey = (key: string) => (/^\\*(lc|__lc_escaped__)$/.test(key) ? `\\${key}` : key);
const unescapeKey = (key: string) => (/^\\+(lc|__lc_escaped__)$/.test(key) ? key.slice(1) : key);

/** Parsed JSON to state; it is changed in place. */
export function decode(value: unknown, depth = 0): unknown {
  if (typeof value !== "object" || value === null) return value;
  // Ours never comes here, though a record has up to three levels for one of the state's: somebody else wrote this.
  if (depth > 3 * MAX_DEPTH + 3) return value;
  if (Array.isArray(value)) {
    for (const [place, item] of value.entries())
      if (typeof item === "object") value[place] = decode(item, depth + 1);
    return value;
  }
  if ("__lc_escaped__" in value) return value.__lc_escaped__;
  const isRecord = "lc" in value;
  const fields = decodeFields(value as Fields, depth);
  if (!isRecord) return fields;
  if (fields.lc === 1) return reviveRecord(fields) ?? fields;
  if (fields.lc === 2 && fields.type === "undefined") return undefined;
  if (fields.lc === 2 && fields.type === "delta_snapshot" && "value" in fields)
    return new DeltaSnapshot(fields.value);
  if (fields.lc === 2 && fields.type === "constructor") return reviveBuiltin(fields) ?? fields;
  return fields;
}

function decodeFields(fields: Fields, depth: number): Fields {
  let isEscaped = false;
  for (const key of Object.keys(fields)) {
    const child = fields[key];
    if (typeof child === "object") fields[key] = decode(child, depth + 1);
    isEscaped ||= key.startsWith("\\");
  }
  if (!isEscaped) return fields;
  return Object.fromEntries(Object.entries(fields).map(([key, child]) => [unescapeKey(key), child]));
}

function reviveRecord({ type, id, kwargs }: Fields): unknown {
  if (type !== "constructor" || !Array.isArray(id) || id[0] !== "langchain_core") return undefined;
  if (typeof kwargs !== "object" || kwargs === null || Array.isArray(kwargs)) return undefined;
  const name: unknown = id.at(-1);
  const fields = kwargs as Fields;
  try {
    if (id[1] === "documents" && name === "Document") {
      const { page_content, metadata, id: documentId } = fields;
      if (typeof page_content !== "string") return undefined;
      return new Document({
        pageContent: page_content,
        metadata: metadata as Fields,
        ...(typeof documentId === "string" ? { id: documentId } : {}),
      });
    }
    const Message = id[1] === "messages" && typeof name === "string" ? MESSAGES.get(name) : undefined;
    return Message ? new Message(fields as never) : undefined;
  } catch {
    // The constructor did not take these fields: then it is data.
    return undefined;
  }
}

function reviveBuiltin({ id, method, args }: Fields): unknown {
  if (!Array.isArray(id) || id.length !== 1 || !Array.isArray(args)) return undefined;
  const [first, second] = args as unknown[];
  const plainCall = method === null || method === undefined;
  try {
    switch (id[0]) {
      case "Uint8Array":
        return (plainCall || method === "from") && isBytes(first) ? Uint8Array.from(first) : undefined;
      case "Map":
        return plainCall && isEntries(first) ? new Map(first) : undefined;
      case "Set":
        return plainCall && Array.isArray(first) ? new Set(first) : undefined;
      case "RegExp":
        return plainCall && typeof first === "string" && typeof second === "string"
          ? new RegExp(first, second)
          : undefined;
      case "Error":
        return plainCall && typeof first === "string" ? new Error(first) : undefined;
    }
  } catch {
    // Not a valid expression: then it is data.
  }
  return undefined;
}

const isBytes = (value: unknown): value is number[] =>
  Array.isArray(value) && value.every((item) => Number.isInteger(item) && item >= 0 && item <= 255);
const isEntries = (value: unknown): value is [unknown, unknown][] =>
  Array.isArray(value) && value.every((entry) => Array.isArray(entry) && entry.length === 2);
