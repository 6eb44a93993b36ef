import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";
import { contains } from "./contains.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const VALUES = [
  null,
  1,
  "1",
  true,
  {},
  [],
  [1, 2],
  [2, 1, 1],
  [[1]],
  [{ a: 1 }, { b: 2 }],
  [{ a: 1, c: 3 }],
  { a: 1 },
  { a: 1, b: { c: [1, { d: 2 }] } },
  { b: { c: [{ d: 2 }] } },
  { b: {} },
  { a: null },
];

it("answers what PostgreSQL answers", async () => {
  const wrong: unknown[] = [];
  for (const whole of VALUES) {
    for (const part of VALUES) {
      // The one exception of `@>`: a list contains a bare element. A filter never asks it at the top.
      if (Array.isArray(whole) && !Array.isArray(part)) continue;
      const [row] = await database.db.query<{ answer: boolean }>("select $1::jsonb @> $2::jsonb as answer", [
        JSON.stringify(whole),
        JSON.stringify(part),
      ]);
      if (row?.answer !== contains(whole, part)) wrong.push([whole, part, row?.answer]);
    }
  }
  expect(wrong).toEqual([]);
});
