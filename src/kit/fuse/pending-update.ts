// Several updates that become one write: each is merged as its channel would, so that the next hook reads what
// the one before it wrote, and the single update at the end leaves the channel with exactly that value.
import { isDeepStrictEqual } from "node:util";
import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { Overwrite, REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import type { Reducer, Values } from "./schemas.ts";

export interface PendingUpdate {
  /** The state with all updates so far. */
  readonly state: Values;
  add(update: Values): void;
  /** One update with the effect of all, or undefined when there was none. */
  toUpdate(): Values | undefined;
}

export function createPendingUpdate(
  before: Values,
  reducers: Readonly<Record<string, Reducer>>,
): PendingUpdate {
  const state: Values = { ...before };
  const writes = new Map<string, unknown[]>();
  return {
    state,
    add(update) {
      for (const [key, value] of Object.entries(update)) {
        if (value === undefined) continue;
        state[key] = reduce(reducers[key], state[key], value);
        writes.set(key, [...(writes.get(key) ?? []), value]);
      }
    },
    toUpdate() {
      if (writes.size === 0) return undefined;
      const keys = [...writes];
      return Object.fromEntries(
        keys.map(([key, values]) => [key, toWrite(key, values, before[key], state[key], reducers[key])]),
      );
    },
  };
}

function reduce(reducer: Reducer | undefined, current: unknown, next: unknown): unknown {
  if (Overwrite.isInstance(next)) return next.value;
  // A channel that has no value yet takes its first write as it is; messages always have one.
  return reducer && current !== undefined ? reducer(current, next) : next;
}

function toWrite(
  key: string,
  values: readonly unknown[],
  before: unknown,
  after: unknown,
  reducer: Reducer | undefined,
): unknown {
  if (key === "messages") return toMessages(values, before, after as BaseMessage[]);
  if (values.length === 1 || !reducer) return values.at(-1);
  // An idempotent reducer arrives at the value by itself; any other (and a key that was cleared) must be told.
  return isDeepStrictEqual(reduce(reducer, before, after), after) ? after : new Overwrite(after);
}

/** The messages that changed; the whole list only where one was removed, since a removal cannot be told twice. */
function toMessages(values: readonly unknown[], before: unknown, after: readonly BaseMessage[]): unknown {
  const removes = values.flat().some((message) => RemoveMessage.isInstance(message as BaseMessage));
  if (removes) {
    return values.length === 1 ? values[0] : [new RemoveMessage({ id: REMOVE_ALL_MESSAGES }), ...after];
  }
  const old = new Set(Array.isArray(before) ? before : []);
  return after.filter((message) => !old.has(message));
}
