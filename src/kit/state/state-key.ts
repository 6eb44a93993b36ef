// One key of a declared state: what may be written to it, how a write joins what is there, and the LangGraph value
// that is made of both. Pure.
import { ReducedValue } from "@langchain/langgraph";
import { z } from "zod";
import { type MergeHandler, mergeLists, replaceValues } from "../merge.ts";
import { readHandlerWrite, withHandler } from "./handler-write.ts";

type Handlers<Value> = Readonly<Record<string, MergeHandler<Value>>>;

export interface StateField<Type extends z.ZodType = z.ZodType> {
  /** Zod schema of the value. Its default, if it has one, is what the key holds before the first write. */
  readonly type: Type;
  /** How a write joins what is there. By default lists are merged, everything else is replaced (document 004). */
  readonly handler?: MergeHandler<z.output<Type>>;
  /** Others that a single write may ask for by their name; `replaceValues` and, for lists, `mergeLists` always are. */
  readonly handlers?: Handlers<z.output<Type>>;
}

export interface StateKey<Type extends z.ZodType = z.ZodType> {
  readonly name: string;
  readonly type: Type;
  /** What a write may be: the type, and for a list that merges also one element. */
  readonly written: z.ZodType;
  readonly handler: MergeHandler<unknown>;
  readonly handlers: Handlers<unknown>;
  /** The key as LangGraph declares it. */
  readonly reduced: ReducedValue<unknown, unknown>;
  /** What the key holds before the first write. */
  first(): unknown;
  /** The value as its type reads it. @throws TypeError that names the key */
  check(value: unknown): unknown;
  /** @throws TypeError that names the key and the handlers it has */
  handlerNamed(name: string): MergeHandler<unknown>;
}

const PARTS = ["type", "handler", "handlers"];

/** @throws TypeError that says what is wrong with the declaration of this key */
export function toStateKey<Type extends z.ZodType>(name: string, field: StateField<Type>): StateKey<Type> {
  const { type } = checkField(name, field);
  const inner: z.ZodType =
    type instanceof z.ZodDefault || type instanceof z.ZodPrefault ? (type.unwrap() as z.ZodType) : type;
  // No default on the input side: an `undefined` that is written must stay undefined, or it would be read as the
  // default and, for a key where an empty value clears, erase what is there.
  const input = inner.nullish();
  if (input.safeParse(undefined).data !== undefined) {
    throw new TypeError(`State key "${name}": a default must be the outermost part of the type.`);
  }
  // Without a first value LangGraph would store the first write as it is, unseen by the handler.
  const valueSchema: z.ZodType = inner === type ? type.nullable().default(null) : type;
  const element = elementOf(inner);
  const handlers = toHandlers(name, field, element !== undefined);
  const handler = (field.handler ?? (element ? mergeLists : replaceValues)) as MergeHandler<unknown>;
  const single = handler === mergeLists ? element : undefined;
  const read = readerOf(input, single);

  function handlerNamed(wanted: string): MergeHandler<unknown> {
    if (Object.hasOwn(handlers, wanted)) return handlers[wanted] as MergeHandler<unknown>;
    const valid = Object.keys(handlers).join(", ");
    throw new TypeError(`State key "${name}" has no handler "${wanted}"; it has ${valid}.`);
  }
  const reducer = (current: unknown, next: unknown): unknown => {
    const write = readHandlerWrite(next);
    if (!write) return handler(current, next) ?? null;
    return (write.handler === null ? handler : handlerNamed(write.handler))(current, write.value) ?? null;
  };
  return {
    name,
    type,
    written: single ? z.union([type, single]) : type,
    handler,
    handlers,
    reduced: new ReducedValue<unknown, unknown>(valueSchema, { inputSchema: inputOf(input, read), reducer }),
    first: () => z.parse(valueSchema, undefined),
    check(value) {
      const result = read(value);
      if (result.success) return result.data;
      throw new TypeError(`State key "${name}": ${z.prettifyError(result.error)}`);
    },
    handlerNamed,
  };
}

function checkField<Type extends z.ZodType>(name: string, field: StateField<Type>): StateField<Type> {
  const fail = (reason: string) => new TypeError(`State key "${name}" ${reason}`);
  if (name === "messages") throw fail("is a list of messages in every state and cannot be declared.");
  if (typeof field !== "object" || field === null || !(field.type instanceof z.ZodType)) {
    throw fail("needs a type, a Zod schema: { type: z.string() }.");
  }
  const unknown = Object.keys(field).find((part) => !PARTS.includes(part));
  if (unknown)
    throw fail(`has "${unknown}", which is no part of a declaration; those are ${PARTS.join(", ")}.`);
  if (field.handler !== undefined && typeof field.handler !== "function") {
    throw fail(`has a handler that is no function (current, next) => value.`);
  }
  return field;
}

function toHandlers(name: string, { handlers = {} }: StateField, isList: boolean): Handlers<unknown> {
  const standard = { replaceValues, ...(isList ? { mergeLists } : {}) } as Handlers<unknown>;
  for (const [own, handler] of Object.entries(handlers)) {
    const where = `State key "${name}": the handler "${own}"`;
    if (typeof handler !== "function")
      throw new TypeError(`${where} is no function (current, next) => value.`);
    if (Object.hasOwn(standard, own))
      throw new TypeError(`${where} is there already and means something else.`);
  }
  return { ...standard, ...(handlers as Handlers<unknown>) };
}

/** The type of a list's elements; undefined for what is no list. */
function elementOf(type: z.ZodType): z.ZodType | undefined {
  if (type instanceof z.ZodNullable || type instanceof z.ZodOptional || type instanceof z.ZodReadonly)
    return elementOf(type.unwrap() as z.ZodType);
  return type instanceof z.ZodArray ? (type.element as z.ZodType) : undefined;
}

type Read = (value: unknown) => z.ZodSafeParseResult<unknown>;

/** With `element`, a single one of them is read as a list of one, as document 004's merge_lists takes it. */
function readerOf(input: z.ZodType, element: z.ZodType | undefined): Read {
  return (value) => {
    const whole = input.safeParse(value);
    if (whole.success || !element) return whole;
    const single = element.safeParse(value);
    return single.success ? { success: true, data: [single.data] } : whole;
  };
}

/** The input's JSON schema, and a check that lets a write through which names its handler. */
function inputOf(input: z.ZodType, read: Read): z.ZodType {
  const schema = z.unknown().transform((value, context) => {
    const write = readHandlerWrite(value);
    const result = read(write ? write.value : value);
    if (!result.success) {
      for (const issue of result.error.issues) context.issues.push({ ...issue, input: value } as never);
      return z.NEVER;
    }
    return write ? withHandler(write.handler, result.data) : result.data;
  });
  schema._zod.toJSONSchema = () => {
    const { $schema: _, ...json } = z.toJSONSchema(input, { io: "input", target: "draft-07" });
    return json;
  };
  return schema.optional();
}
