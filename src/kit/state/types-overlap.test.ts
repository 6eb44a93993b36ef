import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { mismatchOf } from "./types-overlap.ts";

it.each([
  [z.string(), z.string().min(5), undefined],
  [z.int(), z.number(), undefined],
  [z.string().nullish(), z.string().default("a"), undefined],
  [z.enum(["a", "b"]), z.string(), undefined],
  [z.literal(1), z.string(), "number, not string"],
  [z.union([z.string(), z.number()]), z.number(), undefined],
  [z.union([z.string(), z.number()]), z.boolean(), "string or number, not boolean"],
  [z.array(z.string()), z.array(z.any()), undefined],
  [
    z.array(z.array(z.int())),
    z.array(z.array(z.string())),
    "array of array of number, not array of array of string",
  ],
  [z.array(z.string()), z.union([z.array(z.number()), z.null()]), "array of string, not array of number"],
  [z.tuple([z.string()]), z.array(z.number()), undefined],
  [z.record(z.string(), z.string()), z.object({ a: z.string() }), undefined],
  [z.unknown(), z.string(), undefined],
  [z.date(), z.string(), undefined],
  [z.string().transform(Number), z.string(), undefined],
  [z.number(), z.string().transform(Number), "number, not string"],
])("of %# it tells only what can never fit", (given, wanted, reason) => {
  expect(mismatchOf(given as z.ZodType, wanted as z.ZodType)).toBe(reason);
});

const leaf = fc.constantFrom<z.ZodType>(
  z.string(),
  z.number(),
  z.int(),
  z.boolean(),
  z.null(),
  z.unknown(),
  z.literal("a"),
);
const types = fc.letrec<{ type: z.ZodType }>((tie) => ({
  type: fc.oneof(
    { maxDepth: 3 },
    leaf,
    tie("type").map((type) => z.array(type)),
    tie("type").map((type) => type.optional()),
    fc.tuple(tie("type"), tie("type")).map((both) => z.union(both)),
    tie("type").map((type) => z.object({ field: type })),
  ),
})).type;

/** Without null, which is in almost any type, and the empty list, which is in any list. */
const leaves = ["a", "b", 1, 1.5, true];
const inner = [...leaves, ...leaves.map((leaf) => [leaf]), ...leaves.map((field) => ({ field }))];
const values = [...inner, ...inner.map((value) => [value]), ...inner.map((field) => ({ field }))];

it("never refuses a type for itself, nor one that takes a value of the other", () => {
  fc.assert(fc.property(types, (type) => mismatchOf(type, type) === undefined));
  fc.assert(
    fc.property(types, types, (given, wanted) => {
      const common = values.find(
        (value) => given.safeParse(value).success && wanted.safeParse(value).success,
      );
      return common === undefined || mismatchOf(given, wanted) === undefined;
    }),
    { numRuns: 500 },
  );
});
