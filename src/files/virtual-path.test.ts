import { describe, expect, it } from "vitest";
import { parseVirtualPath } from "./virtual-path.ts";

describe("parseVirtualPath", () => {
  it("splits a path into its folder and segments", () => {
    expect(parseVirtualPath("/mnt/user-data/outputs/a/b c.md")).toEqual({
      path: "/mnt/user-data/outputs/a/b c.md",
      folder: "outputs",
      segments: ["a", "b c.md"],
    });
  });

  it("takes doubled and trailing slashes and single dots for what they mean", () => {
    expect(parseVirtualPath("/mnt/user-data//workspace/./a/").path).toBe("/mnt/user-data/workspace/a");
    expect(parseVirtualPath("/mnt/user-data/")).toEqual({
      path: "/mnt/user-data",
      folder: undefined,
      segments: [],
    });
  });

  const outside = [
    "",
    "report.md",
    "/",
    "/etc/passwd",
    "/mnt/user-data/secrets/x",
    "/mnt/user-datax/workspace/x",
    "mnt/user-data/workspace/x",
    "/mnt/user-data/workspace/../../../etc/passwd",
    "/mnt/user-data/workspace/..",
    "/MNT/user-data/workspace/x",
    "C:\\mnt\\user-data\\workspace",
    "file:///mnt/user-data/workspace/x",
  ];
  for (const path of outside) {
    it(`says that ${JSON.stringify(path)} is outside`, () => {
      expect(() => parseVirtualPath(path)).toThrow(expect.objectContaining({ code: "path_outside" }));
    });
  }

  const unnameable = ["a\0b", "a\nb", "a\\b", "\u202ea", "x".repeat(256), "\ud800", `${"d/".repeat(2100)}x`];
  for (const name of unnameable) {
    it(`refuses the name ${JSON.stringify(name.slice(0, 20))}`, () => {
      expect(() => parseVirtualPath(`/mnt/user-data/workspace/${name}`)).toThrow(
        expect.objectContaining({ code: "invalid_file_name" }),
      );
    });
  }

  it("tells of a path without repeating more of it than a line", () => {
    try {
      parseVirtualPath(`/etc/${"x".repeat(3000)}`);
      expect.unreachable();
    } catch (error) {
      expect((error as Error).message.length).toBeLessThan(300);
    }
  });
});
