import { existsSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { limitedShell, sandboxArguments } from "./bubblewrap-arguments.ts";
import { DEFAULT_LIMITS } from "./provider.ts";

const folders = {
  threadId: "t",
  dataDir: "/d",
  workspace: "/d/threads/t/user-data/workspace",
  uploads: "/d/threads/t/user-data/uploads",
  outputs: "/d/threads/t/user-data/outputs",
  scratch: "/d/threads/t/sandbox-tmp",
};

/** The arguments of each occurrence of `option`. */
function valuesOf(args: readonly string[], option: string, count: number): string[][] {
  return args.flatMap((arg, index) => (arg === option ? [args.slice(index + 1, index + 1 + count)] : []));
}

describe("sandboxArguments", () => {
  const args = sandboxArguments(folders, []);

  it("binds writable only the thread's own folders", () => {
    expect(valuesOf(args, "--bind", 2)).toEqual([
      [folders.workspace, "/mnt/user-data/workspace"],
      [folders.uploads, "/mnt/user-data/uploads"],
      [folders.outputs, "/mnt/user-data/outputs"],
      [folders.scratch, "/tmp"],
    ]);
    expect(args).not.toContain("--dev-bind");
  });

  it("binds read-only nothing but programs, libraries and a few files of /etc", () => {
    for (const [source] of [...valuesOf(args, "--ro-bind", 2), ...valuesOf(args, "--ro-bind-try", 2)]) {
      expect(source).toMatch(/^\/(?:usr|bin|sbin|lib\w*|nix\/store|gnu\/store|etc\/[\w.-]+)$/);
      expect(source).not.toMatch(/passwd|shadow|ssl|ssh|host/);
    }
  });

  it("clears the environment and sets three variables", () => {
    expect(args).toContain("--clearenv");
    expect(valuesOf(args, "--setenv", 1).flat()).toEqual(["PATH", "HOME", "LANG"]);
  });

  it.runIf(existsSync("/usr/share"))("covers a hidden folder where it lies inside a system folder", () => {
    const covered = sandboxArguments(folders, ["/usr/share", "/home", "/no/such/folder"]);
    const paths = valuesOf(covered, "--tmpfs", 1).flat();
    expect(paths).toContain("/usr/share");
    expect(paths).not.toContain("/home");
  });
});

describe("limitedShell", () => {
  it("passes the command as an argument, never as part of the script", () => {
    const command = '$(touch /tmp/x)"; echo';
    const base = { stdin: "", timeoutMs: 1_500, maxOutputChars: 1, signal: new AbortController().signal };
    const [, , script, , last] = limitedShell({ ...base, command }, DEFAULT_LIMITS);
    expect(last).toBe(command);
    expect(script).not.toContain("touch");
    expect(script).toContain("timeout -s KILL 7 ");
  });
});
