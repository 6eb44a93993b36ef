import { mkdir, symlink } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createPresentFilesTool } from "./present-files.ts";

const O = "/mnt/user-data/outputs";
let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
  for (const name of ["a.md", "sub/b (1).md"])
    await setting.files.write(setting.threadId, `${O}/${name}`, "x");
});
afterEach(() => setting.close());

describe("present_files", () => {
  const fails = (...file_paths: string[]) => setting.failure(createPresentFilesTool(setting), { file_paths });

  it("adds each file once to the artifacts, under the path that clients will ask for", async () => {
    const tool = createPresentFilesTool(setting);
    const file_paths = [`${O}/sub/b (1).md`, `${O}/a.md`, `${O}//a.md`, `${O}/a.md`];
    const update = await setting.update(tool, { file_paths });
    expect(update.artifacts).toEqual([`${O}/sub/b (1).md`, `${O}/a.md`]);
    expect(await setting.call(tool, { file_paths })).toBe(`Shown to the user: ${O}/sub/b (1).md, ${O}/a.md`);
  });

  it("shows nothing when one of the files cannot be shown", async () => {
    await setting.files.write(setting.threadId, "/mnt/user-data/workspace/c.md", "x");
    await mkdir(setting.onDisk("outputs/folder"));
    await symlink("/etc/passwd", setting.onDisk("outputs/link"));
    expect(await fails(`${O}/a.md`, "/mnt/user-data/workspace/c.md")).toContain("copy it there first");
    expect(await fails(`${O}/none.md`)).toContain("no file");
    expect(await fails(`${O}/folder`)).toContain("is a folder");
    expect(await fails(`${O}/link`)).toContain("link");
    expect(await fails(O)).toContain("is a folder");
    expect(await fails("/mnt/user-data/outputs/../workspace/c.md")).toContain("..");
    expect(await fails("/mnt/user-data/outputsx/a.md")).toContain("not inside");
    expect(await fails()).toContain("file_paths");
  });
});
