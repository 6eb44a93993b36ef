// A copy of a state's value that shares nothing with it. `structuredClone` would make plain objects of messages and
// refuse functions.
import { Document } from "@langchain/core/documents";
import { BaseMessage } from "@langchain/core/messages";

/**
 * Copies lists, records, Map, Set, Date, bytes, messages and documents, to any depth, cycles too. An object of another
 * class is handed on as it is: nobody outside knows how to copy it.
 */
export function copyValue<Value>(value: Value): Value {
  return copy(value, new Map()) as Value;
}

function copy(value: unknown, copies: Map<object, object>): unknown {
  if (typeof value !== "object" || value === null) return value;
  const known = copies.get(value);
  if (known) return known;
  const keep = <Copy extends object>(made: Copy) => {
    copies.set(value, made);
    return made;
  };
  if (value instanceof Date || ArrayBuffer.isView(value)) return keep(structuredClone(value));
  if (value instanceof Map) {
    const map = keep(new Map());
    for (const [key, item] of value) map.set(copy(key, copies), copy(item, copies));
    return map;
  }
  if (value instanceof Set) {
    const set = keep(new Set());
    for (const item of value) set.add(copy(item, copies));
    return set;
  }
  if (Array.isArray(value)) {
    const list = keep(new Array<unknown>(value.length));
    for (let index = 0; index < value.length; index++) list[index] = copy(value[index], copies);
    return list;
  }
  const prototype: object | null = Object.getPrototypeOf(value);
  if (prototype !== null && prototype !== Object.prototype) {
    if (BaseMessage.isInstance(value) || value instanceof Document) {
      return copyInstance(value, keep(Object.create(prototype)), copies);
    }
    return value;
  }
  const record = keep<Record<string, unknown>>(prototype === null ? Object.create(null) : {});
  for (const key of Object.keys(value)) {
    const item = copy((value as Record<string, unknown>)[key], copies);
    // Assigned, this one would become the prototype.
    if (key === "__proto__") Object.defineProperty(record, key, { ...FIELD, value: item });
    else record[key] = item;
  }
  return record;
}

const FIELD = { enumerable: true, configurable: true, writable: true };

/** With its symbols, by which messages know each other. */
function copyInstance(from: object, into: object, copies: Map<object, object>): object {
  for (const key of Reflect.ownKeys(from)) {
    const property = Object.getOwnPropertyDescriptor(from, key) as PropertyDescriptor;
    if ("value" in property) property.value = copy(property.value, copies);
    Object.defineProperty(into, key, property);
  }
  return into;
}
