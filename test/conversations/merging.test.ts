// What a patch does, in this process and in PostgreSQL, one by one and several at once: always the same.
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { toJsonb } from "../../src/conversations/conversations.sql.ts";
import {
  EMPTY_CONVERSATION,
  mergeValues,
  type PatchParts,
  toCombinedParts,
  toPatchParts,
} from "../../src/kit/conversation-values.ts";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const word = fc.constantFrom("a", "b", "c", "__proto__", 'quo"te', "ünï");
const nullable = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: null });
const patch = fc.record(
  {
    keyInsights: nullable(fc.array(word)),
    discoveries: nullable(
      fc.array(
        fc.record({ claim: word, evidence: fc.constantFrom<{ taskId: string }[]>([], [{ taskId: "1" }]) }),
      ),
    ),
    methodology: nullable(word),
    plan: nullable(fc.array(fc.record({ objective: word, type: fc.constant("ANALYSIS" as const) }))),
    currentLevel: nullable(fc.nat()),
    objective: word,
  },
  { requiredKeys: [] },
);
const patches = fc.array(patch, { minLength: 1, maxLength: 6 }).map((all) => all.map(toPatchParts));

const inTurn = (all: readonly PatchParts[]) => all.reduce(mergeValues, EMPTY_CONVERSATION);

async function inDatabase(all: readonly PatchParts[]) {
  let values: object = EMPTY_CONVERSATION;
  for (const { replaced, appended, cleared } of all) {
    const [row] = await database.db.query<{ values: object }>(
      "select heddle.merge_values($1::jsonb, $2::jsonb, $3::jsonb, $4::text[]) as values",
      [toJsonb(values), toJsonb(replaced), toJsonb(appended), cleared],
    );
    values = row?.values ?? {};
  }
  return values;
}

it("patches written together do what they do one after the other", () => {
  fc.assert(
    fc.property(patches, (all) => {
      expect(mergeValues(EMPTY_CONVERSATION, toCombinedParts(all))).toEqual(inTurn(all));
    }),
  );
});

it("PostgreSQL merges as this process does", async () => {
  await fc.assert(
    fc.asyncProperty(patches, async (all) => {
      expect(await inDatabase(all)).toEqual(inTurn(all));
      expect(await inDatabase([toCombinedParts(all)])).toEqual(inTurn(all));
    }),
  );
});

it("takes an element for the same whatever the order of its keys, and for another one with more keys", async () => {
  const all = [[{ claim: "x", n: 1 }], [{ n: 1, claim: "x" }], [{ claim: "x" }]];
  expect(await inDatabase(all.map((discoveries) => toPatchParts({ discoveries })))).toEqual({
    objective: "",
    discoveries: [{ claim: "x", n: 1 }, { claim: "x" }],
  });
});
