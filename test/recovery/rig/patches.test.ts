// The anchors of crash points and mutants are where they were: otherwise a mutant that is "not caught" was never planted.
import { readFileSync } from "node:fs";
import path from "node:path";
import { describe, expect, it } from "vitest";
import { CRASH_POINTS } from "./crash-points.ts";
import { MUTANTS } from "./mutants.ts";
import { applyPatch } from "./patch.ts";
import { SCENARIOS } from "./scenarios.ts";

const ROOT = path.resolve(import.meta.dirname, "../../..");
const read = (file: string) => readFileSync(path.join(ROOT, file), "utf8");

describe("every crash point", () => {
  it.each([...CRASH_POINTS])("%s has its place in the source", (_, patch) => {
    expect(applyPatch(read(patch.file), patch)).not.toBe(read(patch.file));
  });
});

describe("every mutant", () => {
  it.each([...MUTANTS])("%s has its place in the source, and scenarios that look for it", (_, mutant) => {
    for (const patch of mutant.patches ?? [])
      expect(applyPatch(read(patch.file), patch)).not.toBe(read(patch.file));
    const schema = read("src/db/schema.sql");
    for (const { name, find } of mutant.functions ?? []) {
      const [text = ""] = schema.split(`FUNCTION heddle.${name}(`)[1]?.split("\n$function$;") ?? [];
      expect(text.split(find), `${find} in ${name}`).toHaveLength(2);
    }
    expect(mutant.patches ?? mutant.functions).toBeDefined();
    for (const scenario of mutant.scenarios) expect(Object.keys(SCENARIOS)).toContain(scenario);
  });
});

describe("an anchor that is not there exactly once", () => {
  it("is an error, whoever plants it", () => {
    const patch = { file: "a.ts", find: "b", put: "c" };
    expect(() => applyPatch("abcb", patch)).toThrow("2 times");
    expect(() => applyPatch("a", patch)).toThrow("0 times");
    expect(applyPatch("abc", { ...patch, put: "$& $&" })).toBe("ab bc");
  });
});
