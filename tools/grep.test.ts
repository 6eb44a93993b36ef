import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createGrepTool } from "./grep.ts";

const W = "/mnt/user-data/workspace";
let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
});
afterEach(() => setting.close());

describe("grep", () => {
  const write = (path: string, content: string | Uint8Array) =>
    setting.files.write(setting.threadId, `${W}/${path}`, content);
  const grep = (pattern: string, args: object = {}) =>
    setting.call(createGrepTool(setting), { pattern, path: W, ...args });

  it("shows matching lines with their path and number, in the order of the files", async () => {
    await write("b.py", "import os\nprint(os.environ)\n");
    await write("a/x.py", "x = 1\r\nimport sys\r\n");
    expect(await grep("^import \\w+$")).toBe(`${W}/a/x.py:2: import sys\n${W}/b.py:1: import os`);
    expect(await grep("os", { path: `${W}/b.py` })).toBe(
      `${W}/b.py:1: import os\n${W}/b.py:2: print(os.environ)`,
    );
    expect(await grep("import", { glob: "a/*.py" })).toBe(`${W}/a/x.py:2: import sys`);
    expect(await setting.call(createGrepTool(setting), { pattern: "sys" })).toBe(`${W}/a/x.py:2: import sys`);
    expect(await grep("nowhere")).toBe(`No line matches in ${W} (2 files).`);
  });

  it("tells capitals from small letters only when asked to, and takes text literally when asked to", async () => {
    await write("t", "Price (EUR)\nprice (usd)\n");
    expect(await grep("PRICE")).toContain("t:2");
    expect(await grep("Price", { case_sensitive: true })).not.toContain("t:2");
    expect(await grep("(eur)", { literal: true })).toBe(`${W}/t:1: Price (EUR)`);
    expect(await grep("(", { literal: true, max_results: 1 })).toContain("only the first 1 lines");
  });

  it("leaves out what is not text, too long or kept by tools, and tells of files that are too large", async () => {
    await write("binary", Buffer.from("needle\0"));
    await write("long-line", `${"x".repeat(3_000)}needle\nneedle here\n`);
    await write("large", `needle\n${"x".repeat(1024 * 1024)}`);
    await write(".git/config", "needle");
    expect(await grep("needle")).toBe(
      `${W}/long-line:2: needle here\n[... 1 files over 1 MB were not searched ...]`,
    );
  });

  it("shows of a wide line the part with the match", async () => {
    await write("wide", `${"a".repeat(900)}NEEDLE${"b".repeat(900)}`);
    const text = await grep("needle");
    expect(text).toMatch(/: …a+NEEDLEb+…$/);
    expect(text.length).toBeLessThan(260);
  });

  it("finishes at once on patterns that explode elsewhere", async () => {
    await write("a", `${"a".repeat(1_900)}!\n`.repeat(200));
    expect(await grep("(a+)+$")).toContain("No line matches");
    expect(await grep("(a|aa)+b|(.*.*.*)x$")).toContain("No line matches");
  });

  it("says what is wrong with a pattern", async () => {
    const fails = (pattern: string) => setting.failure(createGrepTool(setting), { pattern, path: W });
    expect(await fails("(")).toContain("missing closing )");
    expect(await fails("(?=x)")).toContain("literal");
    expect(await fails("((a{999}){999}){999}")).toContain("repeat count");
  });

  it("stops when the run is cancelled", async () => {
    await write("a", "x");
    const signal = AbortSignal.abort(new Error("cancelled"));
    expect(await setting.failure(createGrepTool(setting), { pattern: "x", path: W }, signal)).toBe(
      "cancelled",
    );
  });
});
