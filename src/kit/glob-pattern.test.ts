import { describe, expect, it } from "vitest";
import { toGlobMatcher } from "./glob-pattern.ts";

describe("toGlobMatcher", () => {
  const cases: [pattern: string, yes: string[], no: string[]][] = [
    ["*.csv", ["a.csv", "x/y/b.csv", ".csv"], ["a.csv.gz", "csv", "a.csv/x"]],
    ["**/*.csv", ["a.csv", "x/y/b.csv"], ["a.txt"]],
    ["data/*.csv", ["data/a.csv"], ["a.csv", "data/x/a.csv", "other/data/a.csv"]],
    ["data/**", ["data/a", "data/x/y"], ["data", "other/a"]],
    ["a/**/b", ["a/b", "a/x/b", "a/x/y/b"], ["a/xb", "ab"]],
    ["report-20??.md", ["report-2024.md"], ["report-20.md", "report-20/4.md"]],
    ["*.{png,jp{e,}g}", ["a.png", "a.jpg", "a.jpeg"], ["a.gif", "a.{png,jpg}"]],
    ["[a-c]x", ["ax", "cx"], ["dx", "[x"]],
    ["[!a-c]x", ["dx"], ["ax", "/x"]],
    ["[]x]", ["]", "x"], ["[]x]"]],
    ["\\*.md", ["*.md"], ["a.md"]],
    ["a+b (1).txt", ["a+b (1).txt"], ["aab (1).txt"]],
    ["./src/*.ts", ["src/a.ts"], ["a.ts"]],
    ["/src/*.ts", ["src/a.ts"], ["a.ts"]],
    ["größe*", ["größe.txt"], ["grösse.txt"]],
  ];
  for (const [pattern, yes, no] of cases) {
    it(`reads ${pattern}`, () => {
      const matches = toGlobMatcher(pattern);
      expect(yes.filter((path) => !matches(path))).toEqual([]);
      expect(no.filter(matches)).toEqual([]);
    });
  }

  it("says what is wrong with a pattern", () => {
    for (const pattern of ["", "x".repeat(501), "[a", "{a,b", "[z-a]"]) {
      expect(() => toGlobMatcher(pattern), pattern).toThrow(/glob pattern/);
    }
  });

  it("matches in linear time, whatever the pattern", () => {
    const matches = toGlobMatcher(`${"*a".repeat(100)}b`);
    expect(matches("a".repeat(255))).toBe(false);
    expect(toGlobMatcher(`${"{a,aa}".repeat(60)}b`)("a".repeat(255))).toBe(false);
  });
});
