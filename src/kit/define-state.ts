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
  ReducedValue,
  StateSchema,
} from "@langchain/langgraph";
import { z } from "zod";
import { type MergeHandler, mergeLists, replace } from "./merge.ts";

interface StateField<Type extends z.ZodType = z.ZodType> {
  /** Zod schema of the value. Its default, if it has one, is what the key holds before the first write. */
  readonly type: Type;
  /** How a write joins what is there. By default lists are merged, everything else is replaced (document 004). */
  readonly handler?: MergeHandler<z.output<Type>>;
}

type Types = Record<string, z.ZodType>;
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

export interface DefinedState<T extends Types> {
  /** For `new StateGraph(state.annotation)`. */
  readonly annotation: ReturnType<typeof Annotation.Root<Aggregates<T>>>;
  /** For `new StateGraph(state.graphSchema)`: checks what is written, and Studio can show it. */
  readonly graphSchema: StateSchema<Reduced<T> & { messages: typeof MessagesValue }>;
  /** For `createAgent({ stateSchema })` and `createMiddleware({ stateSchema })`, which have messages of their own. */
  readonly schema: StateSchema<Reduced<T>>;
  /** The same keys with the same handlers, fewer of them: what a middleware declares that it touches. */
  pick<Key extends keyof T & string>(...keys: Key[]): DefinedState<Pick<T, Key>>;
  /** These keys and more. A name that starts with `_` is hidden from the agent's input and output. */
  extend<More extends Types>(fields: Fields<More>): DefinedState<T & More>;
}

/** The TypeScript type of a state: `type Notes = StateOf<typeof Notes>`. */
export type StateOf<Defined> = Defined extends DefinedState<infer T> ? StateValues<T> : never;

/**
 * Declares a state: `defineState({ findings: { type: z.array(z.string()) } })`. `messages` is always there.
 * @throws TypeError for a key named `messages`, and for a default that hides inside the type
 */
export function defineState<T extends Types>(fields: Fields<T>): DefinedState<T> {
  return fromReduced<T>(toReducedFields(fields));
}

type ReducedFields = Record<string, ReducedValue<unknown, unknown>>;

function fromReduced<T extends Types>(reduced: ReducedFields): DefinedState<T> {
  const channels = Object.entries(reduced).map(([key, { valueSchema, reducer }]) => [
    key,
    Annotation<unknown>({ reducer, default: () => z.parse(valueSchema as z.ZodType, undefined) }),
  ]);
  const messages = Annotation<BaseMessage[], Messages>({ reducer: messagesStateReducer, default: () => [] });
  return {
    annotation: Annotation.Root({ ...Object.fromEntries(channels), messages } as Aggregates<T>),
    graphSchema: new StateSchema({ ...(reduced as unknown as Reduced<T>), messages: MessagesValue }),
    // Without messages: createAgent would show a declared one without LangGraph's mark, and Studio no chat.
    schema: new StateSchema(reduced as unknown as Reduced<T>),
    pick: (...keys) => fromReduced(Object.fromEntries(keys.map((key) => [key, lookUp(reduced, key)]))),
    extend: (fields) => fromReduced({ ...reduced, ...toReducedFields(fields) }),
  };
}

function toReducedFields<T extends Types>(fields: Fields<T>): ReducedFields {
  const entries = Object.entries<StateField>(fields);
  return Object.fromEntries(entries.map(([key, field]) => [key, toReduced(key, field)]));
}

function lookUp<Found>(record: Record<string, Found>, key: string): Found {
  const found = record[key];
  if (found === undefined) {
    throw new TypeError(`State has no key "${key}"; it has ${Object.keys(record).join(", ")}.`);
  }
  return found;
}

function toReduced(key: string, { type, handler }: StateField): ReducedValue<unknown, unknown> {
  if (key === "messages") throw new TypeError('"messages" is part of every state and cannot be declared.');
  const inner = type instanceof z.ZodDefault || type instanceof z.ZodPrefault ? type.unwrap() : type;
  // No default on the input side: an `undefined` that is written must stay undefined, or it would be read as the
  // default and, for a key where an empty value clears, erase what is there.
  const inputSchema = (inner as z.ZodType).nullish();
  if (inputSchema.safeParse(undefined).data !== undefined) {
    throw new TypeError(`State key "${key}": a default must be the outermost part of the type.`);
  }
  // Without a first value LangGraph would store the first write as it is, unseen by the handler.
  const valueSchema = inner === type ? type.nullable().default(null) : type;
  const merge = handler ?? (isList(inner as z.ZodType) ? mergeLists : replace);
  return new ReducedValue<unknown, unknown>(valueSchema, {
    inputSchema,
    reducer: merge as MergeHandler<unknown>,
  });
}

function isList(type: z.ZodType): boolean {
  if (type instanceof z.ZodNullable || type instanceof z.ZodOptional)
    return isList(type.unwrap() as z.ZodType);
  return type instanceof z.ZodArray;
}
