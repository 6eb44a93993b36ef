import { describe, expect, it } from "vitest";
import { createPathMask } from "./path-mask.ts";

const { apply } = createPathMask({ threadId: "0b1c", dataDir: "/home/ann/app (1)/.heddle" });

describe("a path mask", () => {
  it("puts virtual paths for the thread's folders", () => {
    expect(apply("/home/ann/app (1)/.heddle/threads/0b1c/user-data/outputs/a.md: not found")).toBe(
      "/mnt/user-data/outputs/a.md: not found",
    );
    expect(apply("'/home/ann/app (1)/.heddle/threads/0b1c/sandbox-tmp/x'")).toBe("'/tmp/x'");
  });

  it("knows the tails that a mount table shows", () => {
    expect(apply("81 65 254:0 /.heddle/threads/0b1c/user-data/workspace /mnt/user-data/workspace rw")).toBe(
      "81 65 254:0 /mnt/user-data/workspace /mnt/user-data/workspace rw",
    );
    expect(apply("81 65 254:0 /ann/app\\040(1)/.heddle/threads/0b1c/user-data/workspace /x")).toBe(
      "81 65 254:0 /mnt/user-data/workspace /x",
    );
    expect(apply("/threads/0b1c/user-data/uploads")).toBe("/mnt/user-data/uploads");
  });

  it("hides the rest of the data directory, and leaves other text alone", () => {
    expect(apply("ls /home/ann/app (1)/.heddle/threads/other")).toBe("ls [server data]/threads/other");
    const plain = "/home/ann/x /threads/0b1d/user-data /threads/0b1c/user-database";
    expect(apply(plain)).toBe(plain);
  });
});
