// Whether any value of one Zod type could be one of another, by their JSON schemas. Only what is certainly wrong is
// told: types that JSON schema cannot say may hold anything. Pure.
import { z } from "zod";

type Schema = z.core.JSONSchema.BaseSchema | boolean;

/** Why no value that `given` lets out fits into `wanted`, as in "string, not array of number"; undefined when one may. */
export function mismatchOf(given: z.ZodType, wanted: z.ZodType): string | undefined {
  const from = toSchema(given, "output");
  const into = toSchema(wanted, "input");
  return overlap(from, into) ? undefined : `${nameOf(from)}, not ${nameOf(into)}`;
}

function toSchema(type: z.ZodType, io: "input" | "output"): Schema {
  return z.toJSONSchema(type, { io, unrepresentable: "any" });
}

/** One of the JSON types that a schema lets through; without a kind it may be any. */
interface Option {
  readonly kind?: string;
  /** Of a list's elements. */
  readonly element?: Schema;
}

function overlap(from: Schema, into: Schema): boolean {
  const wanted = optionsOf(into);
  return optionsOf(from).some((given) => wanted.some((option) => overlapOne(given, option)));
}

function overlapOne(given: Option, wanted: Option): boolean {
  if (given.kind === undefined || wanted.kind === undefined) return true;
  if (given.kind !== wanted.kind) return false;
  return !given.element || !wanted.element || overlap(given.element, wanted.element);
}

/** Without null, which almost any key and parameter may be for a while. */
function optionsOf(schema: Schema): Option[] {
  const options = allOptionsOf(schema).filter(({ kind }) => kind !== "null");
  return options.length > 0 ? options : [{}];
}

function allOptionsOf(schema: Schema): Option[] {
  if (typeof schema === "boolean") return [{}];
  const { anyOf, oneOf, type, enum: values, items } = schema;
  const union = anyOf ?? oneOf;
  if (union) return union.flatMap((option) => allOptionsOf(option as Schema));
  const element = Array.isArray(items) ? undefined : (items as Schema | undefined);
  const kinds = [type ?? ("const" in schema ? typeof schema.const : values?.map((one) => typeof one))].flat();
  return kinds.map((kind) => {
    if (kind === "array") return { kind, element };
    return { kind: kind === "integer" ? "number" : kind };
  });
}

function nameOf(schema: Schema): string {
  const names = optionsOf(schema).map(({ kind = "anything", element }) =>
    element === undefined ? kind : `${kind} of ${nameOf(element)}`,
  );
  return [...new Set(names)].join(" or ");
}
