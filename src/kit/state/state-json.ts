// A declared state, and the values of one, as JSON and back: types as JSON schema, handlers by name. A function has
// no JSON, so whoever reads a declaration brings the handlers that are not standard (document 004, "State").
import {
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  type StoredMessage,
} from "@langchain/core/messages";
import { z } from "zod";
import { type DefinedState, defineState, type Types } from "../define-state.ts";
import { type MergeHandler, mergeLists, replaceValues } from "../merge.ts";
import { copyValue } from "./copy-value.ts";
import { createState, type State } from "./state.ts";
import type { StateKey } from "./state-key.ts";

/** Handlers by name, beside `mergeLists` and `replaceValues`. */
export type HandlerRegistry = Readonly<Record<string, (current: never, next: never) => unknown>>;

const fieldSchema = z.object({
  type: z.record(z.string(), z.unknown()),
  handler: z.string(),
  /** Those that single writes may name. */
  handlers: z.array(z.string()).optional(),
});
const definitionSchema = z.record(z.string(), fieldSchema);
const stateSchema = z.object({ schema: definitionSchema, data: z.record(z.string(), z.unknown()) });

export type DefinitionJSON = z.output<typeof definitionSchema>;
export type StateJSON = z.output<typeof stateSchema>;

const STANDARD: HandlerRegistry = { mergeLists, replaceValues };

/** @throws TypeError for a type that JSON schema cannot say, and for a handler that the registry does not name */
export function definitionToJSON<T extends Types>(
  definition: DefinedState<T>,
  registry: HandlerRegistry = {},
): DefinitionJSON {
  const known: HandlerRegistry = { ...registry, ...STANDARD };
  return Object.fromEntries(
    Object.values<StateKey>(definition.keys).map((key) => [key.name, fieldToJSON(key, known)]),
  );
}

function fieldToJSON({ name, type, handler, handlers }: StateKey, known: HandlerRegistry) {
  const own = Object.keys(handlers).filter((one) => !Object.hasOwn(STANDARD, one));
  const registered = Object.keys(known).find((one) => known[one] === handler);
  const unregistered = own.find((one) => known[one] !== handlers[one]);
  if (registered === undefined || unregistered !== undefined) {
    const which = registered === undefined ? "its handler" : `its handler "${unregistered}"`;
    throw new TypeError(`State key "${name}": ${which} is not in the registry that was passed.`);
  }
  return {
    type: at(name, () => typeToJSON(type)),
    handler: registered,
    ...(own.length > 0 ? { handlers: own } : {}),
  };
}

// As it is written, not as it is read: otherwise an object would come back as one that refuses other keys.
function typeToJSON(type: z.ZodType): Record<string, unknown> {
  const { $schema: _, ...schema } = z.toJSONSchema(type, { io: "input", override: withoutTrifles });
  return schema;
}

/** @throws TypeError that names the key */
function at<Result>(name: string, act: () => Result): Result {
  try {
    return act();
  } catch (error) {
    throw new TypeError(`State key "${name}": ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What says nothing, but makes Zod read a record back as something that is written otherwise. */
function withoutTrifles({ jsonSchema }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void {
  const { propertyNames, properties } = jsonSchema;
  if (JSON.stringify(propertyNames) === '{"type":"string"}') delete jsonSchema.propertyNames;
  if (properties && Object.keys(properties).length === 0) delete jsonSchema.properties;
}

/** @throws TypeError for what is no such JSON, and for a handler that neither the registry nor the standard has */
export function definitionFromJSON(json: unknown, registry: HandlerRegistry = {}): DefinedState<Types> {
  const known: HandlerRegistry = { ...registry, ...STANDARD };
  const fields = Object.entries(read(definitionSchema, json)).map(
    ([name, { type, handler, handlers = [] }]) => {
      const find = (wanted: string) => {
        if (Object.hasOwn(known, wanted)) return known[wanted] as MergeHandler<unknown>;
        const valid = Object.keys(known).join(", ");
        throw new TypeError(`State key "${name}": there is no handler "${wanted}"; there is ${valid}.`);
      };
      const named = Object.fromEntries(handlers.map((own) => [own, find(own)]));
      return [
        name,
        { type: at(name, () => z.fromJSONSchema(type as never)), handler: find(handler), handlers: named },
      ];
    },
  );
  return defineState(Object.fromEntries(fields));
}

/** @throws TypeError as `definitionToJSON` does */
export function stateToJSON<T extends Types>(state: State<T>, registry: HandlerRegistry = {}): StateJSON {
  const { messages, ...values } = state.data;
  return {
    schema: definitionToJSON(state.definition, registry),
    data: { ...values, messages: copyValue(mapChatMessagesToStoredMessages(messages)) },
  };
}

/** @throws TypeError as `definitionFromJSON` does, and for values that do not fit */
export function stateFromJSON(json: unknown, registry: HandlerRegistry = {}): State<Types> {
  const { schema, data } = read(stateSchema, json);
  const { messages = [], ...values } = data;
  return createState(definitionFromJSON(schema, registry), {
    ...values,
    messages: at("messages", () => mapStoredMessagesToChatMessages(messages as StoredMessage[])),
  });
}

function read<Output>(schema: z.ZodType<Output>, json: unknown): Output {
  const result = schema.safeParse(json);
  if (result.success) return result.data;
  throw new TypeError(`This is no state as JSON: ${z.prettifyError(result.error)}`);
}
