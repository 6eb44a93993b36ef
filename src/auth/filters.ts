// From the filters that a rule of the SDK's `Auth` returns to a Scope. What is no filter that we can keep is refused: a
// filter that is left out would show everything.
import { isObject } from "../graphs/graph.ts";
import type { Scope } from "./access.ts";

type Scalar = string | number | boolean | null;

/**
 * `{ k: v }` and `{ k: { $eq: v } }`: the metadata's `k` is `v`. `{ k: { $contains: v } }`: it is a list that has `v`, or
 * each one of a list. All keys must match.
 * @throws Error for any other operator or value
 */
export function toScope(filters: Readonly<Record<string, unknown>>): NonNullable<Scope> {
  return Object.fromEntries(Object.entries(filters).map(([key, filter]) => [key, toPart(key, filter)]));
}

function toPart(key: string, filter: unknown): Scalar | Scalar[] {
  if (key.startsWith("$")) throw new Error(`The filter has the operator ${key}, which there is not.`);
  if (!isObject(filter)) return toScalar(key, filter);
  const [[operator, operand] = [], ...others] = Object.entries(filter);
  if (operator === "$eq" && others.length === 0) return toScalar(key, operand);
  if (operator === "$contains" && others.length === 0) {
    return [operand].flat().map((member) => toScalar(key, member));
  }
  throw new Error(
    `The filter on "${key}" must be a value, { $eq: value } or { $contains: value or list }, and no ${JSON.stringify(filter)}.`,
  );
}

/** `undefined` would vanish on the way to the database, and the filter with it. */
function toScalar(key: string, value: unknown): Scalar {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number" && Number.isFinite(value)) return value;
  throw new Error(`The filter on "${key}" compares with ${typeof value}, which no metadata can be.`);
}
