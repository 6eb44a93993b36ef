import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { createOwner, isGone } from "./owner.ts";

describe("an owner of leases", () => {
  it("is there while its process lives, and has a name of its own", () => {
    expect(isGone(createOwner())).toBe(false);
    expect(createOwner()).not.toBe(createOwner());
  });

  it("is gone when its process has ended, or its pid is another process's now", async () => {
    const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
    await once(child, "close");
    const [host, pid, start, random] = createOwner().split(":");
    expect(isGone([host, child.pid, start, random].join(":"))).toBe(true);
    if (start !== "") expect(isGone([host, pid, `${start}0`, random].join(":"))).toBe(true);
  });

  it("is nothing that one can tell of another machine, or of a name in another form", () => {
    expect(isGone(`elsewhere:999999999:1:x`)).toBe(false);
    expect(isGone("gone")).toBe(false);
  });
});
