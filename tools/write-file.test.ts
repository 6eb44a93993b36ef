import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createWriteFileTool } from "./write-file.ts";

const path = "/mnt/user-data/outputs/new/report.md";
let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
});
afterEach(() => setting.close());

describe("write_file", () => {
  const write = (args: object) => setting.call(createWriteFileTool(setting), args);
  const content = async () => (await setting.files.read(setting.threadId, path)).toString();

  it("writes a file and the folders on its way, replaces it, and adds to it", async () => {
    expect(await write({ path, content: "# Tür\n" })).toBe(`Wrote 7 bytes; ${path} has 7 bytes.`);
    await write({ path, content: "# B\n" });
    expect(await write({ path, content: "more\n", append: true })).toBe(
      `Added 5 bytes; ${path} has 9 bytes.`,
    );
    expect(await content()).toBe("# B\nmore\n");
    await write({ path, content: "" });
    expect(await content()).toBe("");
  });

  it("takes at most 80 KiB at once, by bytes, and says how to write more", async () => {
    await write({ path, content: "x".repeat(80 * 1024) });
    const failed = await setting.failure(createWriteFileTool(setting), {
      path,
      content: "é".repeat(41 * 1024),
    });
    expect(failed).toContain("more than 81920");
    expect(failed).toContain("append");
    expect(await content()).toBe("x".repeat(80 * 1024));
  });

  it("refuses paths outside and names that cannot be", async () => {
    const bad = [
      "/etc/cron.d/x",
      "report.md",
      "/mnt/user-data/x.md",
      "/mnt/user-data/outputs/../../x",
      "/mnt/user-data/outputs/a\nb",
    ];
    for (const one of [...bad, "/mnt/user-data/outputs", "/mnt/user-data/outputs/a\0b"]) {
      await setting.failure(createWriteFileTool(setting), { path: one, content: "x" });
    }
    expect(await setting.files.list(setting.threadId, "/mnt/user-data/outputs")).toEqual([]);
  });
});
