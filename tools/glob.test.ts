import { symlink } from "node:fs/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createGlobTool } from "./glob.ts";

let setting: ToolSetting;
beforeEach(async () => {
  setting = await openToolSetting();
  for (const path of ["workspace/a.csv", "workspace/x/b.csv", "workspace/x/c.txt", "uploads/d.csv"]) {
    await setting.files.write(setting.threadId, `/mnt/user-data/${path}`, "x");
  }
});
afterEach(() => setting.close());

describe("glob", () => {
  const glob = (args: object) => setting.call(createGlobTool(setting), args);

  it("finds by name in every folder, by path where the pattern has a slash", async () => {
    expect(await glob({ pattern: "*.csv" })).toBe(
      "/mnt/user-data/uploads/d.csv\n/mnt/user-data/workspace/a.csv\n/mnt/user-data/workspace/x/b.csv",
    );
    expect(await glob({ pattern: "x/*", path: "/mnt/user-data/workspace//" })).toBe(
      "/mnt/user-data/workspace/x/b.csv\n/mnt/user-data/workspace/x/c.txt",
    );
    expect(await glob({ pattern: "**/*.{txt,md}", path: "/mnt/user-data/workspace" })).toBe(
      "/mnt/user-data/workspace/x/c.txt",
    );
  });

  it("finds folders when asked to, and leaves out links and what tools keep for themselves", async () => {
    await setting.files.write(setting.threadId, "/mnt/user-data/workspace/node_modules/x/e.csv", "x");
    await setting.files.write(setting.threadId, "/mnt/user-data/workspace/.git/f.csv", "x");
    await symlink("/etc/passwd", setting.onDisk("workspace/link.csv"));
    expect(await glob({ pattern: "*.csv", path: "/mnt/user-data/workspace" })).not.toMatch(
      /node_modules|git|link/,
    );
    expect(await glob({ pattern: "x", include_dirs: true })).toBe("/mnt/user-data/workspace/x");
    expect(await glob({ pattern: "x" })).toBe("Nothing matches x in /mnt/user-data.");
  });

  it("gives the first results and says how many more there are", async () => {
    expect(await glob({ pattern: "*", max_results: 2 })).toBe(
      "/mnt/user-data/uploads/d.csv\n/mnt/user-data/workspace/a.csv\n[... 2 more are left out ...]",
    );
  });

  it("says what is wrong with a pattern or a path", async () => {
    const fails = (args: object) => setting.failure(createGlobTool(setting), args);
    expect(await fails({ pattern: "[a" })).toContain("not a glob pattern");
    expect(await fails({ pattern: "*", path: "/" })).toContain("not inside");
    expect(await fails({ pattern: "*", max_results: 5000 })).toContain("max_results");
  });
});
