import { expect, it } from "vitest";
import { hideFolders, toReason } from "./failure.ts";

it.each([
  ["no file /home/ada/project/src/a.ts", "no file ./src/a.ts"],
  ["imported from file:///home/ada/project/src/a.ts?tsx-namespace=heddle-1-2", "imported from ./src/a.ts"],
  [
    "Cannot find '/opt/heddle/node_modules/x/index.js', asked by (/usr/lib/y.js:3:4)",
    "Cannot find '…/index.js', asked by (…/y.js:3:4)",
  ],
  ["see https://example.com/a/b and ./src/a/b.ts, 1/2", "see https://example.com/a/b and ./src/a/b.ts, 1/2"],
])("shows no folder outside the project: %s", (text, shown) => {
  expect(hideFolders(text, "/home/ada/project")).toBe(shown);
});

it("says what an error says on one line, of three at most", () => {
  expect(toReason(new Error("Transform failed:\n\n  a.ts:1:2: no\n  more\n  and more\n"))).toBe(
    "Transform failed: a.ts:1:2: no more",
  );
  expect(toReason(new RangeError(""))).toBe("RangeError");
  expect(toReason("just a text.")).toBe("just a text");
});
