// Values of a declared state outside of a graph: read and written with the same checks and the same handlers.
// Document 004, "State".
import type { BaseMessage } from "@langchain/core/messages";
import { type Messages, messagesStateReducer } from "@langchain/langgraph";
import { type DefinedState, keyNamed, type StateValues, type Types } from "../define-state.ts";
import type { MergeHandler } from "../merge.ts";
import { copyValue } from "./copy-value.ts";
import type { StateKey } from "./state-key.ts";

type Values<T extends Types> = StateValues<T>;
type Key<T extends Types> = keyof Values<T> & string;
type Held<T extends Types, Name extends Key<T>> = NonNullable<Values<T>[Name]>;
/** What may be written: the value, or for a list one of its elements. */
type Written<Value> = Value | (Value extends readonly (infer Element)[] ? Element : never) | null | undefined;

interface SetOptions<Value> {
  /** For this write: a function, or the name of one that the key declares. */
  readonly handlerOverride?: MergeHandler<Value> | string;
}

/** All values that are handed out are copies: who changes one has not changed the state. */
export interface State<T extends Types> {
  readonly definition: DefinedState<T>;
  /** All keys, `messages` included; null where nothing is. */
  readonly data: Values<T>;
  /** The value, or the default where nothing is. */
  get<Name extends Key<T>>(name: Name): Held<T, Name> | undefined;
  get<Name extends Key<T>>(name: Name, fallback: Held<T, Name>): Held<T, Name>;
  /** Whether there is something: a key that was never written, or cleared with null, holds nothing. */
  has(name: Key<T>): boolean;
  /**
   * Merges a value into the key; undefined is no write.
   * @throws TypeError for an unknown key or handler and for a value that does not fit the key's type; the state is
   * then as it was
   */
  set<Name extends Key<T>>(
    name: Name,
    value: Name extends "messages" ? Messages : Written<Held<T, Name>>,
    options?: SetOptions<Held<T, Name>>,
  ): void;
}

/**
 * A state that holds `data`, taken as it is and through no handler, and elsewhere the defaults.
 * @throws TypeError for an unknown key and for a value that does not fit
 */
export function createState<T extends Types>(
  definition: DefinedState<T>,
  data: { readonly [Name in Key<T>]?: Name extends "messages" ? Messages : Values<T>[Name] } = {},
): State<T> {
  const declared = Object.values<StateKey>(definition.keys);
  const values = new Map([...declared, MESSAGES].map(({ name, first }) => [name, first()]));
  const keyOf = (name: string) => (name === "messages" ? MESSAGES : keyNamed(definition.keys, name));

  for (const [name, value] of Object.entries(data)) {
    if (value !== undefined) values.set(name, keyOf(name).check(copyValue(value)));
  }
  return {
    definition,
    get data() {
      return copyValue(Object.fromEntries(values)) as Values<T>;
    },
    get(name: string, fallback?: unknown) {
      const value = values.get(keyOf(name).name);
      return copyValue(value ?? fallback) as never;
    },
    has: (name) => (values.get(name) ?? null) !== null,
    set(name, value, { handlerOverride } = {}) {
      const key = keyOf(name);
      const handler =
        typeof handlerOverride === "string"
          ? key.handlerNamed(handlerOverride)
          : (handlerOverride ?? key.handler);
      if (value === undefined) return;
      const merged = (handler as MergeHandler<unknown>)(values.get(name), key.check(copyValue(value)));
      values.set(name, key.check(merged));
    },
  };
}

/** `messages` as every state has them: LangGraph's own list, which replaces a message that comes again by its id. */
const MESSAGES = {
  name: "messages",
  handler: messagesStateReducer as MergeHandler<unknown>,
  first: (): unknown => [],
  check(value: unknown): BaseMessage[] {
    try {
      return messagesStateReducer([], value as Messages);
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      throw new TypeError(`State key "messages" takes messages: ${reason}`);
    }
  },
  handlerNamed(wanted: string): MergeHandler<unknown> {
    throw new TypeError(`State key "messages" has no handler "${wanted}".`);
  },
};
