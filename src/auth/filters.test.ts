import { describe, expect, it } from "vitest";
import { toScope } from "./filters.ts";

describe("filters of a rule", () => {
  it("are values, equalities and members of lists, all of which must match", () => {
    expect(
      toScope({
        owner: "ann",
        level: { $eq: 3 },
        teams: { $contains: "blue" },
        tags: { $contains: ["a", "b"] },
        archived: false,
        parent: null,
      }),
    ).toEqual({ owner: "ann", level: 3, teams: ["blue"], tags: ["a", "b"], archived: false, parent: null });
    expect(toScope({})).toEqual({});
  });

  it.each([
    ["an unknown operator", { owner: { $ne: "ann" } }],
    ["an operator above the keys", { $or: [{ owner: "ann" }] }],
    ["two operators on one key", { owner: { $eq: "ann", $contains: "ann" } }],
    ["an object without an operator", { owner: { name: "ann" } }],
    ["an empty object", { owner: {} }],
    ["a list", { owner: ["ann"] }],
    // A user without the field that the rule compares with: nothing must be seen, not everything.
    ["undefined", { owner: undefined }],
    ["undefined in an operator", { owner: { $eq: undefined } }],
    ["undefined in a list", { owner: { $contains: [undefined] } }],
    ["an object in an operator", { owner: { $eq: {} } }],
    ["a number that JSON does not have", { level: Number.NaN }],
  ])("are refused when they have %s", (_, filters) => {
    expect(() => toScope(filters as Record<string, unknown>)).toThrow(/filter/);
  });
});
