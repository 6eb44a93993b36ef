import { expect, it } from "vitest";
import { ifMatch } from "./if-match.ts";

it.each([
  [undefined, undefined],
  ["*", undefined],
  ['"7"', [7]],
  [' "7" , "12" ', [7, 12]],
  ['W/"7"', []],
  ['"of-another-server"', []],
  ['"7", "x"', [7]],
])("reads If-Match %s as %j", (header, versions) => expect(ifMatch(header)).toEqual(versions));

it.each(["7", '"7', "", '"7" "8"'])("refuses If-Match %s", (header) =>
  expect(() => ifMatch(header)).toThrow("with its quotes"),
);
