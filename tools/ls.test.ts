import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createLsTool } from "./ls.ts";

let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
});
afterEach(() => setting.close());

describe("ls", () => {
  const list = (path: string, maxChars?: number) =>
    setting.call(createLsTool({ files: setting.files, maxChars }), { path });
  const write = (path: string, content = "x") =>
    setting.files.write(setting.threadId, `/mnt/user-data/workspace/${path}`, content);

  it("lists two levels, folders with a slash, files with their size", async () => {
    await write("b.csv", "12345");
    await write("a/one.txt");
    await write("a/deep/two.txt");
    expect(await list("/mnt/user-data/workspace")).toBe(
      [
        "/mnt/user-data/workspace/a/",
        "/mnt/user-data/workspace/a/deep/",
        "/mnt/user-data/workspace/a/one.txt  1 bytes",
        "/mnt/user-data/workspace/b.csv  5 bytes",
      ].join("\n"),
    );
  });

  it("shows the three folders at the root, and a file by itself", async () => {
    await write("x");
    await setting.files.ensure(setting.threadId);
    expect(await list("/mnt/user-data")).toBe(
      "/mnt/user-data/outputs/\n/mnt/user-data/uploads/\n/mnt/user-data/workspace/\n/mnt/user-data/workspace/x  1 bytes",
    );
    expect(await list("/mnt/user-data/workspace/x")).toBe("/mnt/user-data/workspace/x  1 bytes");
  });

  it("says that a folder is empty, also before the thread has any", async () => {
    expect(await list("/mnt/user-data/uploads")).toBe("/mnt/user-data/uploads is empty.");
  });

  it("cuts a long list at a line", async () => {
    for (let index = 10; index < 40; index += 1) await write(`file-${index}`);
    const text = await list("/mnt/user-data/workspace", 200);
    expect(text).toMatch(/file-13 {2}1 bytes\n\[\.\.\. more is left out/);
    expect(text.length).toBeLessThan(260);
  });

  it("refuses folders that are not there or not the thread's", async () => {
    const fails = (path: string) => setting.failure(createLsTool(setting), { path });
    expect(await fails("/mnt/user-data/workspace/none")).toContain("There is no file or folder");
    expect(await fails("/root")).toContain("not inside");
  });
});
