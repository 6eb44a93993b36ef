import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../../test/helpers/database.ts";

let database: TestDatabase;
beforeAll(async () => {
  database = await createTestDatabase();
});
afterAll(() => database.drop());

const bytes = fc.option(fc.uint8Array().map(Buffer.from), { nil: null });

it.each(["hex", "escape"])("what PostgreSQL writes as %s is read as it was", async (output) => {
  await database.db.transaction(async (tx) => {
    await tx.query(`set local bytea_output = ${output}`);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.tuple(bytes, bytes, bytes)), async (rows) => {
        const columns = [0, 1, 2].map((column) => rows.map((row) => row[column as 0 | 1 | 2]));
        const found = await tx.query(
          `select array_agg(array[a, b, c] order by place) as rows
           from unnest($1::bytea[], $2::bytea[], $3::bytea[]) with ordinality as t (a, b, c, place)`,
          columns,
        );
        expect(found).toEqual([{ rows: rows.length === 0 ? null : rows }]);
      }),
    );
  });
});

it.each([
  ["array[]::bytea[]", []],
  ["array['\\x61', null]::bytea[]", [Buffer.from("a"), null]],
  ["array[[['\\x61']]]::bytea[]", [[[Buffer.from("a")]]]],
  ["null::bytea[]", null],
  ["'[2:3][0:0]={{\\\\x61},{\\\\x62}}'::bytea[]", [[Buffer.from("a")], [Buffer.from("b")]]],
])("other forms are read as well: %s", async (expression, value) => {
  expect(await database.db.query(`select ${expression} as value`)).toEqual([{ value }]);
});
