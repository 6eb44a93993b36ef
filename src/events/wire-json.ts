// How values become the JSON that clients of the LangGraph API read: a message is flat, `{ type, content, id, … }`.
import { BaseMessage } from "@langchain/core/messages";
import { messageFields } from "../db/serializer.ts";

/** One line of JSON. Never throws: a cycle is cut with "[Circular]"; what cannot be read at all is "[Unreadable]". */
export function toWireJson(value: unknown): string {
  for (const replacer of [withFlatLists(), withoutCycles()]) {
    try {
      return JSON.stringify(value, replacer) ?? "null";
    } catch {
      // A cycle, or a getter or toJSON that throws.
    }
  }
  return '"[Unreadable]"';
}

/**
 * A list's messages before JSON.stringify comes to them: it would first make their own records, for half of the time.
 * The same list becomes the same again, so that a cycle is one.
 */
function withFlatLists(): typeof replace {
  const lists = new Map<unknown, unknown[]>();
  return function (this: unknown, key: string, value: unknown) {
    const plain = replace.call(this, key, value);
    if (!Array.isArray(plain) || !plain.some(BaseMessage.isInstance)) return plain;
    const list =
      lists.get(plain) ?? plain.map((item) => (BaseMessage.isInstance(item) ? toFlat(item) : item));
    lists.set(plain, list);
    return list;
  };
}

const toFlat = (message: BaseMessage) => ({ ...messageFields(message), type: message.type });

// JSON.stringify calls toJSON first, which a message answers with LangChain's own record: so look at the holder.
function replace(this: unknown, key: string, value: unknown): unknown {
  const raw = (this as Record<string, unknown>)[key];
  if (typeof raw === "bigint") return raw.toString();
  if (typeof raw !== "object" || raw === null) return value;
  if (BaseMessage.isInstance(raw)) return toFlat(raw);
  if (raw instanceof Map) return Object.fromEntries(raw);
  if (raw instanceof Set) return [...raw];
  if (raw instanceof Error) return { name: raw.name, message: raw.message };
  if (raw instanceof Uint8Array) return Buffer.from(raw).toString("base64");
  return value;
}

function withoutCycles(): typeof replace {
  const above: unknown[] = [];
  return function (this: unknown, key: string, value: unknown) {
    // `this` is where `key` sits: everything behind it on the path has been left again.
    const depth = above.indexOf(this);
    above.length = depth === -1 ? above.length : depth + 1;
    const plain = replace.call(this, key, value);
    if (typeof plain !== "object" || plain === null) return plain;
    if (above.includes(plain)) return "[Circular]";
    above.push(plain);
    return plain;
  };
}
