// The filter of a search as conditions that SQL tests: operators as LangGraph's own stores have them. Pure.
import { dump } from "../db/serializer.ts";
import { storableJson } from "../db/storable-json.ts";
import { AppError } from "../errors.ts";

/** Names of operators, as search.sql.ts knows them. */
const OPERATORS: Record<string, string> = {
  $eq: "eq",
  $ne: "ne",
  $gt: "gt",
  $gte: "gte",
  $lt: "lt",
  $lte: "lte",
  $in: "in",
  $nin: "nin",
};
const NUMERIC = new Set(["gt", "gte", "lt", "lte"]);

interface Condition {
  /** Stands under this name where the value is put. */
  readonly field: Record<string, unknown>;
  readonly operator: string;
  readonly operand: unknown;
}

/**
 * `{ field: value }`, or `{ field: { $gt: 1, … } }`: all of it must hold. JSON text for `conditionsHold`.
 * @throws AppError invalid_request for an operator that there is not
 */
export function toConditions(filter: Readonly<Record<string, unknown>> = {}): string {
  const conditions = Object.entries(filter).flatMap(([field, wanted]): Condition[] =>
    toPairs(wanted).map(([operator, operand]) => ({
      // As a key, so that the serializer escapes it as it does in what is stored.
      field: Object.fromEntries([[field, null]]),
      operator,
      operand: toOperand(operator, operand),
    })),
  );
  return storableJson(dump(conditions));
}

function toPairs(wanted: unknown): [operator: string, operand: unknown][] {
  const isObject = typeof wanted === "object" && wanted !== null && !Array.isArray(wanted);
  const entries = isObject ? Object.entries(wanted) : [];
  if (!isObject || !entries.every(([name]) => name.startsWith("$"))) return [["eq", wanted]];
  return entries.map(([name, operand]) => {
    const operator = Object.hasOwn(OPERATORS, name) ? OPERATORS[name] : undefined;
    if (operator === undefined) {
      throw new AppError(
        "invalid_request",
        `The filter has the operator ${name}; there are ${Object.keys(OPERATORS).join(", ")}.`,
      );
    }
    return [operator, operand];
  });
}

/** Sizes are compared as numbers: texts that are none are never more and never less. A list for `in` and `nin`. */
function toOperand(operator: string, operand: unknown): unknown {
  if (operator === "in" || operator === "nin") return Array.isArray(operand) ? operand : [];
  if (!NUMERIC.has(operator)) return operand;
  const number = typeof operand === "object" && operand !== null ? Number.NaN : Number(operand);
  return Number.isNaN(number) ? null : String(number);
}
