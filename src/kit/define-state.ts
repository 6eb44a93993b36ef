// One declaration of a state, in every form LangGraph wants it: the Annotation for a plain StateGraph, the
// StateSchema for createAgent and middlewares, the TypeScript type, and through the schema the JSON that Studio
// shows. `createAgent` silently ignores an Annotation, and a zod object alone has no handlers: hence both.
import type { BaseMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BinaryOperatorAggregate,
  type Messages,
  MessagesValue,
  messagesStateReducer,
  type ReducedValue,
  StateSchema,
} from "@langchain/langgraph";
import type { z } from "zod";
import { type StateField, type StateKey, toStateKey } from "./state/state-key.ts";

/** The types of a state's keys. */
export type Types = Record<string, z.ZodType>;
type Fields<T extends Types> = { readonly [Key in keyof T]: StateField<T[Key]> };
type Value<Type extends z.ZodType> = z.output<Type> | null;

/** What a graph's nodes read. A key without a default is null until it is written. */
export type StateValues<T extends Types> = { [Key in keyof T]: Value<T[Key]> } & { messages: BaseMessage[] };

type Reduced<T extends Types> = {
  [Key in keyof T]: ReducedValue<Value<T[Key]>, Value<T[Key]> | undefined>;
};

type Aggregates<T extends Types> = {
  [Key in keyof T]: BinaryOperatorAggregate<Value<T[Key]>, Value<T[Key]> | undefined>;
} & { messages: BinaryOperatorAggregate<BaseMessage[], Messages> };

type Keys<T extends Types> = { readonly [Key in keyof T]: StateKey<T[Key]> };

export interface DefinedState<T extends Types> {
  /** For `new StateGraph(state.annotation)`. */
  readonly annotation: ReturnType<typeof Annotation.Root<Aggregates<T>>>;
  /** For `new StateGraph(state.graphSchema)`: checks what is written, and Studio can show it. */
  readonly graphSchema: StateSchema<Reduced<T> & { messages: typeof MessagesValue }>;
  /** For `createAgent({ stateSchema })` and `createMiddleware({ stateSchema })`, which have messages of their own. */
  readonly schema: StateSchema<Reduced<T>>;
  /** What was declared, key by key; `messages` is not among them. */
  readonly keys: Keys<T>;
  /** The same keys with the same handlers, fewer of them: what a middleware declares that it touches. */
  pick<Key extends keyof T & string>(...keys: Key[]): DefinedState<Pick<T, Key>>;
  /** These keys and more. A name that starts with `_` is hidden from the agent's input and output. */
  extend<More extends Types>(fields: Fields<More>): DefinedState<T & More>;
}

/** The TypeScript type of a state: `type Notes = StateOf<typeof Notes>`. */
export type StateOf<Defined> = Defined extends DefinedState<infer T> ? StateValues<T> : never;

/**
 * Declares a state: `defineState({ findings: { type: z.array(z.string()) } })`. `messages` is always there.
 * @throws TypeError for a key named `messages`, without a type, with a handler that is no function or with anything
 * else in it, and for a default that hides inside the type
 */
export function defineState<T extends Types>(fields: Fields<T>): DefinedState<T> {
  return fromKeys<T>(toKeys(fields));
}

type AnyKeys = Readonly<Record<string, StateKey>>;

function fromKeys<T extends Types>(keys: AnyKeys): DefinedState<T> {
  const all = Object.entries(keys);
  const channels = all.map(([name, { reduced, first }]) => [
    name,
    Annotation<unknown>({ reducer: reduced.reducer, default: first }),
  ]);
  const messages = Annotation<BaseMessage[], Messages>({ reducer: messagesStateReducer, default: () => [] });
  const reduced = Object.fromEntries(all.map(([name, key]) => [name, key.reduced])) as unknown as Reduced<T>;
  return {
    annotation: Annotation.Root({ ...Object.fromEntries(channels), messages } as Aggregates<T>),
    graphSchema: new StateSchema({ ...reduced, messages: MessagesValue }),
    // Without messages: createAgent would show a declared one without LangGraph's mark, and Studio no chat.
    schema: new StateSchema(reduced),
    keys: keys as Keys<T>,
    pick: (...names) => fromKeys(Object.fromEntries(names.map((name) => [name, keyNamed(keys, name)]))),
    extend: (fields) => fromKeys({ ...keys, ...toKeys(fields) }),
  };
}

function toKeys<T extends Types>(fields: Fields<T>): AnyKeys {
  const entries = Object.entries<StateField>(fields);
  return Object.fromEntries(entries.map(([name, field]) => [name, toStateKey(name, field)]));
}

/** @throws TypeError that names the keys there are */
export function keyNamed(keys: AnyKeys, name: string): StateKey {
  if (Object.hasOwn(keys, name)) return keys[name] as StateKey;
  throw new TypeError(
    `The state has no key "${name}"; it has ${[...Object.keys(keys), "messages"].join(", ")}.`,
  );
}
