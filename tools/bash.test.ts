// With the virtual sandbox, which works everywhere; what the others do is shown by their conformance suite.
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Sandboxes } from "#kit";
import { createSandboxes } from "../src/sandbox/sandboxes.ts";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createBashTool } from "./bash.ts";

let setting: ToolSetting;
let sandboxes: Sandboxes;
beforeEach(async () => {
  setting = await openToolSetting();
  sandboxes = createSandboxes({ provider: "virtual", dataDir: setting.dataDir, files: setting.files });
});
afterEach(async () => {
  await sandboxes.close();
  await setting.close();
});

describe("bash", () => {
  const bash = (command: string, options: { timeoutMs?: number; maxOutputChars?: number } = {}) =>
    setting.call(createBashTool({ sandboxes, ...options }), { description: "try", command });

  it("gives the output, and the exit code where it says something", async () => {
    expect(await bash("echo one; echo two")).toBe("one\ntwo");
    expect(await bash("true")).toBe("[no output, exit code 0]");
    expect(await bash("echo so far; exit 3")).toBe("so far\n[exit code 3]");
    expect(await bash("exit 4")).toBe("[exit code 4]");
  });

  it("works on the thread's files, and keeps its sandbox between calls", async () => {
    const csv = Array.from({ length: 1_000 }, (_, index) => `row${index},${index}`).join("\n");
    await setting.files.write(setting.threadId, "/mnt/user-data/uploads/data.csv", csv);
    const sum =
      "awk -F, '{ s += $2 } END { print s }' /mnt/user-data/uploads/data.csv > sum.txt; cat sum.txt";
    expect(await bash(sum)).toBe("499500");
    await bash("cp sum.txt /tmp/kept");
    expect(await bash("cat /tmp/kept; pwd")).toBe("499500\n/mnt/user-data/workspace");
  });

  it("tells what the sandbox lacks when a program is not found", async () => {
    expect(await bash("python3 -c 'print(1)'")).toMatch(
      /not found.*\n\[exit code 127; this sandbox has .*no python/s,
    );
  });

  it("ends a command at the time-out and says so", async () => {
    expect(await bash("while true; do true; done", { timeoutMs: 500 })).toBe(
      "[ended after 0.5 s, with all that it had started]",
    );
  });

  it("cuts long output in the middle", async () => {
    const text = await bash("seq 1 5000", { maxOutputChars: 200 });
    expect(text).toMatch(/^1\n2\n.*bytes of output left out.*\n4999\n5000$/s);
    expect(text.length).toBeLessThan(300);
  });

  it("kills the command and fails with the reason when the run is cancelled", async () => {
    const controller = new AbortController();
    const command = "echo > started; while true; do true; done";
    const failed = setting.failure(createBashTool({ sandboxes }), { command }, controller.signal);
    await vi.waitFor(async () => {
      expect(await setting.files.stat(setting.threadId, "/mnt/user-data/workspace/started")).toBeDefined();
    }, 10_000);
    controller.abort(new Error("the user has had enough"));
    expect(await failed).toBe("the user has had enough");
  });

  it("fails with a sentence when there is no sandbox", async () => {
    await sandboxes.close();
    const failed = await setting.failure(createBashTool({ sandboxes }), { command: "true" });
    expect(failed).toBe("The server is stopping.");
  });
});
