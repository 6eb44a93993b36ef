import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createStrReplaceTool } from "./str-replace.ts";

const path = "/mnt/user-data/workspace/a.txt";
let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
});
afterEach(() => setting.close());

describe("str_replace", () => {
  const write = (content: string | Uint8Array) => setting.files.write(setting.threadId, path, content);
  const content = async () => (await setting.files.read(setting.threadId, path)).toString();
  const replace = (old_str: string, new_str: string, more: object = {}) =>
    setting.call(createStrReplaceTool(setting), { path, old_str, new_str, ...more });
  const fails = (old_str: string, new_str: string, more: object = {}) =>
    setting.failure(createStrReplaceTool(setting), { path, old_str, new_str, ...more });

  it("replaces a text that is there once", async () => {
    await write("one\ntwo\nthree\n");
    expect(await replace("two\n", "2\n")).toBe(`Replaced 1 place, line 2 in ${path}.`);
    expect(await content()).toBe("one\n2\nthree\n");
    await replace("2\n", "");
    expect(await content()).toBe("one\nthree\n");
  });

  it("refuses a text that is there more than once, with the lines, and changes nothing", async () => {
    await write("a\nb\na\na a\n");
    expect(await fails("a", "x")).toBe(
      `old_str occurs 4 times in ${path}, on lines 1, 3, 4, 4. Add text around it, or set replace_all.`,
    );
    expect(await content()).toBe("a\nb\na\na a\n");
    expect(await replace("a", "x", { replace_all: true })).toBe(
      `Replaced 4 places, line 1, 3, 4, 4 in ${path}.`,
    );
    expect(await content()).toBe("x\nb\nx\nx x\n");
  });

  it("puts the new text as it is, whatever is special about it elsewhere", async () => {
    await write("price");
    await replace("price", "$& $1 $$ \\n %s");
    expect(await content()).toBe("$& $1 $$ \\n %s");
  });

  it("says why a text was not found", async () => {
    await write("one\r\ntwo\r\n  three  four\r\n");
    expect(await fails("nothing", "x")).toContain("does not occur");
    expect(await fails("one\ntwo", "x")).toContain("\\r\\n");
    expect(await fails("three four", "x")).toContain("other spaces");
  });

  it("refuses what would change nothing, and files that are not text", async () => {
    await write("x");
    expect(await fails("x", "x")).toContain("the same");
    expect(await fails("", "x")).toContain("did not match expected schema");
    await write(Buffer.from([0x61, 0xff, 0x62]));
    expect(await fails("a", "b")).toContain("not a text file in UTF-8");
    expect(await setting.files.read(setting.threadId, path)).toEqual(Buffer.from([0x61, 0xff, 0x62]));
    expect(await fails("a", "b", { path: "/mnt/user-data/workspace/none" })).toContain("There is no file");
  });

  it("keeps a byte order mark and loses none of parallel changes", async () => {
    await write(`\ufeff${Array.from({ length: 20 }, (_, index) => `<${index}>`).join("")}`);
    await Promise.all(Array.from({ length: 20 }, (_, index) => replace(`<${index}>`, `[${index}]`)));
    expect(await content()).toBe(`\ufeff${Array.from({ length: 20 }, (_, index) => `[${index}]`).join("")}`);
  });
});
