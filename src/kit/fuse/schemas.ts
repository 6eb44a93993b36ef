// What each middleware declares, read in LangChain's way: its state keys, their reducers, its context. LangChain
// accepts StateSchema and zod objects of versions 3 and 4; this is the one place that tells them apart.
import {
  getInteropZodObjectShape,
  interopParse,
  interopZodObjectPartial,
  isInteropZodObject,
  isZodSchemaV4,
} from "@langchain/core/utils/types";
import {
  messagesStateReducer,
  ReducedValue,
  StateSchema,
  type StateSchemaField,
  type StateSchemaFields,
} from "@langchain/langgraph";
import { schemaMetaRegistry } from "@langchain/langgraph/zod";
import type { AgentMiddleware } from "langchain";
import { z } from "zod";

export type Values = Record<string, unknown>;
export type Reducer = (current: unknown, next: unknown) => unknown;

/** The keys of all, the first declaration of a key winning, as in createAgent. */
export function mergeStateFields(list: readonly AgentMiddleware[]): StateSchemaFields {
  const merged: StateSchemaFields = {};
  for (const middleware of list) {
    for (const [key, field] of Object.entries(fieldsOf(middleware))) merged[key] ??= field;
  }
  return merged;
}

/** How writes to a key are combined; a key that is missing here is replaced. */
export function reducersOf(fields: StateSchemaFields): Record<string, Reducer> {
  const reducers: Record<string, Reducer> = { messages: messagesStateReducer as Reducer };
  for (const [key, field] of Object.entries(fields)) {
    if (ReducedValue.isInstance(field)) reducers[key] = field.reducer as Reducer;
  }
  return reducers;
}

/** What a hook of this middleware sees of the state: its own keys and the messages. */
export function hookState(middleware: AgentMiddleware, state: Values): Values {
  return pick(state, ["messages", "structuredResponse", ...Object.keys(fieldsOf(middleware))]);
}

/** As `hookState`, with the defaults of a zod object filled in, as LangChain does for wrapModelCall. */
export function modelCallState(middleware: AgentMiddleware, state: Values): Values {
  const schema: unknown = middleware.stateSchema;
  const own = isInteropZodObject(schema)
    ? (interopParse(interopZodObjectPartial(schema), state) as Values)
    : hookState(middleware, state);
  return { ...own, messages: state.messages };
}

/** As `hookState`, for wrapToolCall: there LangChain asks a zod object for all its keys. */
export function toolCallState(middleware: AgentMiddleware, state: Values): Values {
  const schema: unknown = middleware.stateSchema;
  const own = isInteropZodObject(schema)
    ? (interopParse(schema, { ...state }) as Values)
    : hookState(middleware, state);
  return { messages: state.messages, ...own };
}

/** One schema that lets every context key of the list through; each middleware checks its own keys itself. */
export function mergeContextSchemas(list: readonly AgentMiddleware[]): z.ZodObject | undefined {
  const keys = list.flatMap(({ contextSchema }) =>
    isInteropZodObject(contextSchema) ? Object.keys(getInteropZodObjectShape(contextSchema)) : [],
  );
  if (!list.some(({ contextSchema }) => contextSchema !== undefined)) return undefined;
  return z.looseObject(Object.fromEntries(keys.map((key) => [key, z.unknown().optional()])));
}

/** What a before or after hook of this middleware sees of the context: its own keys, checked. */
export function hookContext({ contextSchema }: AgentMiddleware, context: unknown): unknown {
  if (!isInteropZodObject(contextSchema)) return {};
  return interopParse(
    contextSchema,
    pick(toValues(context), Object.keys(getInteropZodObjectShape(contextSchema))),
  );
}

/** What wrapModelCall of this middleware sees of the context: all of it, or what its schema makes of it. */
export function modelCallContext({ contextSchema }: AgentMiddleware, context: unknown): unknown {
  return contextSchema === undefined ? context : interopParse(contextSchema, toValues(context));
}

function fieldsOf({ stateSchema }: AgentMiddleware): StateSchemaFields {
  const schema: unknown = stateSchema;
  if (StateSchema.isInstance(schema)) return schema.fields;
  if (!isInteropZodObject(schema)) return {};
  const shape = Object.entries<unknown>(getInteropZodObjectShape(schema));
  return Object.fromEntries(shape.map(([key, type]) => [key, toField(type)]));
}

/** A key of a zod object may carry its reducer in LangGraph's registry. */
function toField(type: unknown): StateSchemaField<unknown, unknown> {
  const reducer = isZodSchemaV4(type) ? schemaMetaRegistry.get(type as never)?.reducer : undefined;
  if (!reducer) return type as StateSchemaField<unknown, unknown>;
  const { schema: inputSchema, fn } = reducer;
  const init = inputSchema ? { inputSchema, reducer: fn } : { reducer: fn };
  return new ReducedValue(type as never, init as never);
}

function pick(values: Values, keys: readonly string[]): Values {
  return Object.fromEntries(keys.filter((key) => key in values).map((key) => [key, values[key]]));
}

function toValues(value: unknown): Values {
  return typeof value === "object" && value !== null ? (value as Values) : {};
}
