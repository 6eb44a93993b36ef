// What a tool takes from the state and what it puts there, as it is declared: checked when the tool is defined, done
// when it is called. Document 004, "Tools and State".
import { z } from "zod";
import { type DefinedState, keyNamed, type Types } from "../define-state.ts";
import { copyValue } from "./copy-value.ts";
import { asData, withHandler } from "./handler-write.ts";
import type { StateKey } from "./state-key.ts";
import { mismatchOf } from "./types-overlap.ts";

type Values = Record<string, unknown>;

interface OutputMapping {
  readonly source?: string;
  readonly handler?: string;
}

interface ToolStateDefinition {
  readonly name: string;
  readonly schema: z.ZodObject;
  readonly state?: DefinedState<Types>;
  readonly inputsFromState?: Readonly<Record<string, string | undefined>>;
  readonly outputsToState?: Readonly<Record<string, OutputMapping | undefined>>;
  readonly returns?: z.ZodType;
}

export interface ToolState {
  /** What the model is asked for. */
  readonly modelSchema: z.ZodObject;
  /** The model's arguments and the state's. @throws Error that tells the model what the state lacks */
  withInputs(args: Values, state: Values): Values;
  /** What of the result goes to the state. @throws TypeError for what does not fit there */
  toUpdate(result: unknown): Values;
}

/** @throws TypeError that says what in the definition is wrong, and what would be right */
export function toToolState(definition: ToolStateDefinition): ToolState {
  const { name, schema, state, inputsFromState = {}, outputsToState = {} } = definition;
  if (!state) {
    const given = Object.keys({ ...inputsFromState, ...outputsToState }).length > 0;
    if (given)
      throw new TypeError(`Tool "${name}" reads or writes state, so it needs its declaration: state.`);
    return { modelSchema: schema, withInputs: (args) => args, toUpdate: () => ({}) };
  }
  const fail = failIn(name, "inputsFromState");
  const inputs = entriesOf(inputsFromState).map(([key, parameter]) =>
    toInput(key, parameter, state, schema, fail),
  );
  const parameters = inputs.map(({ parameter }) => parameter);
  const twice = parameters.find((parameter, index) => parameters.indexOf(parameter) !== index);
  if (twice) throw fail(`more than one key fills the parameter "${twice}".`);
  const outputs = entriesOf(outputsToState).map(([key, mapping]) =>
    toOutput(key, mapping, state, definition.returns, failIn(name, "outputsToState")),
  );
  return {
    modelSchema: refuse(() => without(schema, parameters), fail),
    withInputs(args, values) {
      // A schema that lets other keys through would let the model write what the state is to fill.
      const own = Object.entries(args).filter(([key]) => !parameters.includes(key));
      const filled = inputs.map((input) => [input.parameter, input.read(values)]);
      return Object.fromEntries([...own, ...filled.filter(([, value]) => value !== undefined)]);
    },
    toUpdate(result) {
      const writes = outputs.map(({ key, write }) => [key, write(result)]);
      return Object.fromEntries(writes.filter(([, value]) => value !== undefined));
    },
  };
}

function without(schema: z.ZodObject, parameters: readonly string[]): z.ZodObject {
  if (parameters.length === 0) return schema;
  return schema.omit(
    Object.fromEntries(parameters.map((parameter) => [parameter, true])) as Record<string, never>,
  );
}

type Fail = (reason: string) => TypeError;

function failIn(tool: string, option: string): Fail {
  return (reason) => new TypeError(`Tool "${tool}", ${option}: ${reason}`);
}

function entriesOf<Mapped>(mapping: Readonly<Record<string, Mapped | undefined>>): [string, Mapped][] {
  return Object.entries(mapping).filter((entry): entry is [string, Mapped] => entry[1] !== undefined);
}

function toInput(
  key: string,
  parameter: string,
  state: DefinedState<Types>,
  schema: z.ZodObject,
  fail: Fail,
) {
  const type = key === "messages" ? z.array(z.unknown()) : declared(state, key, fail).type;
  if (!Object.hasOwn(schema.shape, parameter)) {
    throw fail(`the schema has no parameter "${parameter}"; it has ${Object.keys(schema.shape).join(", ")}.`);
  }
  const wanted = schema.shape[parameter] as z.ZodType;
  const mismatch = mismatchOf(type, wanted);
  if (mismatch) throw fail(`the key "${key}" for the parameter "${parameter}" is ${mismatch}.`);
  return {
    parameter,
    /** A copy: who changes it has not changed the state. */
    read(values: Values): unknown {
      const held = copyValue(values[key] ?? undefined);
      const result = wanted.safeParse(held);
      if (result.success) return result.data;
      if (held !== undefined)
        throw new TypeError(`The state's "${key}" does not fit: ${z.prettifyError(result.error)}`);
      // For a parameter that may be null, null is what the state holds.
      if (wanted.safeParse(null).success) return null;
      throw new Error(
        `The state has no "${key}" yet, and this tool needs one. Another tool or the input writes it.`,
      );
    },
  };
}

function toOutput(
  name: string,
  mapping: OutputMapping,
  state: DefinedState<Types>,
  returns: z.ZodType | undefined,
  fail: Fail,
) {
  if (name === "messages") throw fail('"messages" is written by the tool\'s message alone.');
  const key = declared(state, name, fail);
  const { source, handler, ...rest } = checkMapping(name, mapping, fail);
  const [unknown] = Object.keys(rest);
  if (unknown) throw fail(`the mapping of "${name}" has "${unknown}"; it may have source, handler.`);
  if (handler !== undefined) refuse(() => key.handlerNamed(handler), fail);
  const type = source === undefined ? returns : sourceType(name, source, returns, fail);
  const mismatch = type && mismatchOf(type, key.written);
  if (mismatch) throw fail(`what goes to the key "${name}" is ${mismatch}.`);
  return {
    key: name,
    write(result: unknown): unknown {
      const value = source === undefined ? result : fieldOf(result, source);
      if (value === undefined) return undefined;
      key.check(value);
      return handler === undefined ? asData(value) : withHandler(handler, value);
    },
  };
}

function checkMapping(name: string, mapping: OutputMapping, fail: Fail): OutputMapping {
  if (typeof mapping !== "object" || mapping === null)
    throw fail(`the mapping of "${name}" is no { source, handler }.`);
  if (mapping.handler === undefined || typeof mapping.handler === "string") return mapping;
  throw fail(
    `the handler of "${name}" is named, not given: declare it with the key, { type, handlers: { name: function } }, ` +
      "because a write is stored before it is merged.",
  );
}

function sourceType(
  name: string,
  source: string,
  returns: z.ZodType | undefined,
  fail: Fail,
): z.ZodType | undefined {
  if (!(returns instanceof z.ZodObject)) return undefined;
  if (Object.hasOwn(returns.shape, source)) return returns.shape[source] as z.ZodType;
  const valid = Object.keys(returns.shape).join(", ");
  throw fail(`the source "${source}" of "${name}" is not in what the tool returns; that has ${valid}.`);
}

function declared(state: DefinedState<Types>, key: string, fail: Fail): StateKey {
  return refuse(() => keyNamed(state.keys, key), fail);
}

function refuse<Result>(act: () => Result, fail: Fail): Result {
  try {
    return act();
  } catch (error) {
    throw fail(error instanceof Error ? error.message : String(error));
  }
}

function fieldOf(result: unknown, source: string): unknown {
  if (typeof result === "object" && result !== null && !Array.isArray(result)) {
    return Object.hasOwn(result, source) ? (result as Values)[source] : undefined;
  }
  throw new TypeError(`The tool gave no object, and "${source}" of it should go to the state.`);
}
