import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { captureOutput } from "./output.ts";
import { createPathMask } from "./path-mask.ts";

const DATA = "/srv/app/data";
const mask = createPathMask({ threadId: "t-1", dataDir: DATA });

function capture(bytes: Buffer, chunk: number, maxChars: number) {
  const output = captureOutput({ maxChars, mask });
  for (let at = 0; at < bytes.length; at += chunk) output.add(bytes.subarray(at, at + chunk));
  return output.finish();
}

describe("captured output", () => {
  it("is kept whole up to the limit", () => {
    expect(capture(Buffer.from("x".repeat(100)), 7, 100)).toEqual({
      output: "x".repeat(100),
      truncated: false,
    });
    expect(capture(Buffer.from(""), 1, 100)).toEqual({ output: "", truncated: false });
  });

  it("loses its middle beyond it, and says how many bytes", () => {
    const { output, truncated } = capture(Buffer.from(`A${"x".repeat(1_000_000)}Z`), 65_536, 100);
    expect(truncated).toBe(true);
    expect(output).toMatch(/^Ax{49}\n\n\[\.\.\. 999902 bytes of output left out \.\.\.\]\n\nx{49}Z$/);
  });

  it("is the same in whatever chunks it comes, and well formed wherever it is cut", () => {
    const unit = fc.constantFrom("a", "é", "漢", "👍", "\n", `${DATA}/threads/t-1/user-data/workspace/f`);
    fc.assert(
      fc.property(
        fc.array(unit, { maxLength: 3000 }),
        fc.integer({ min: 1, max: 5000 }),
        fc.integer({ min: 0, max: 200 }),
        (units, chunk, maxChars) => {
          const bytes = Buffer.from(units.join(""));
          const whole = capture(bytes, bytes.length + 1, maxChars);
          expect(capture(bytes, chunk, maxChars)).toEqual(whole);
          expect(whole.output.isWellFormed()).toBe(true);
          expect(whole.output.length).toBeLessThanOrEqual(maxChars + 80);
        },
      ),
      { numRuns: 60 },
    );
  });

  it("holds no piece of a host path, wherever it is cut", () => {
    const path = `${DATA}/threads/t-1/user-data/workspace/file.txt\n`;
    for (let shift = 0; shift < path.length; shift += 1) {
      const { output } = capture(Buffer.from("y".repeat(shift) + path.repeat(2_000)), 4096, 300);
      expect(output).not.toMatch(/srv|app|data\/threads|threads|t-1/);
    }
  });

  it("replaces what is not text", () => {
    const bytes = Buffer.from([0x61, 0x00, 0xff, 0xc3, 0x28]);
    expect(capture(bytes, 1, 100).output).toBe("a\ufffd\ufffd\ufffd(");
  });
});
