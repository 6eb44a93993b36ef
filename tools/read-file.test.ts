import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createReadFileTool } from "./read-file.ts";

const path = "/mnt/user-data/workspace/notes.txt";
let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
});
afterEach(() => setting.close());

describe("read_file", () => {
  const read = (args: object, maxChars?: number) =>
    setting.call(createReadFileTool({ files: setting.files, maxChars }), { path, ...args });
  const fails = (args: object) =>
    setting.failure(createReadFileTool({ files: setting.files }), { path, ...args });
  const write = (content: string | Uint8Array) => setting.files.write(setting.threadId, path, content);

  it("gives a text as it is", async () => {
    await write("one\r\ntwo – ü 漢 👍\n\nfour");
    expect(await read({ description: "look" })).toBe("one\r\ntwo – ü 漢 👍\n\nfour");
  });

  it("gives the lines asked for, both ends included", async () => {
    await write("1\n2\n3\n4\n5\n");
    expect(await read({ start_line: 2, end_line: 4 })).toBe("2\n3\n4\n");
    expect(await read({ start_line: 4 })).toBe("4\n5\n");
    expect(await read({ end_line: 1 })).toBe("1\n");
    expect(await read({ start_line: 5, end_line: 99 })).toBe("5\n");
  });

  it("reads lines far into a file that is larger than what it may show, characters on chunk borders whole", async () => {
    const lines = Array.from({ length: 60_000 }, (_, index) => `${"é".repeat(index % 7)}${index + 1}`);
    await write(lines.join("\n"));
    expect(await read({ start_line: 59_999 })).toBe(lines.slice(-2).join("\n"));
    expect(await read({ start_line: 30_000, end_line: 30_001 })).toBe(`${lines[29_999]}\n${lines[30_000]}\n`);
  });

  it("cuts at a line and says where to read on", async () => {
    await write(Array.from({ length: 100 }, (_, index) => `line ${index + 1}\n`).join(""));
    const first = await read({}, 50);
    expect(first).toBe(
      "line 1\nline 2\nline 3\nline 4\nline 5\nline 6\nline 7\n" +
        "[... cut after 50 characters: read on with start_line 8 ...]",
    );
    expect(await read({ start_line: 8, end_line: 9 }, 50)).toBe("line 8\nline 9\n");
  });

  it("cuts a line that is too long by itself", async () => {
    await write(`${"x".repeat(200)}\nend\n`);
    expect(await read({}, 50)).toMatch(/^x{50}\n\[\.\.\. line 1 is longer than 50 characters/);
  });

  it("tells of an empty file, of lines that are not there, and of what is not text", async () => {
    await write("");
    expect(await read({})).toBe(`${path} is empty.`);
    await write("1\n2\n");
    expect(await fails({ start_line: 9 })).toContain("has only");
    expect(await fails({ start_line: 3, end_line: 2 })).toContain("before start_line");
    await write(Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0]));
    expect(await fails({})).toBe(`${path} is not a text file: use view_image or bash.`);
  });

  it("refuses paths that are not the thread's", async () => {
    for (const bad of [
      "/etc/passwd",
      "notes.txt",
      "/mnt/user-data/workspace/../../x",
      "/mnt/user-data/workspace",
    ]) {
      expect(await fails({ path: bad })).toMatch(/not inside|not allowed|is a folder/);
    }
    expect(await fails({ path: "/mnt/user-data/workspace/none" })).toContain("There is no file");
  });
});
