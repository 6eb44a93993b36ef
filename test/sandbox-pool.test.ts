// The pool of sandboxes: one per thread, kept, idle, released, closed; and what is said when there can be none.
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import * as fs from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createThreadFiles } from "../src/files/thread-files.ts";
import { createSandboxes, type SandboxesOptions } from "../src/sandbox/sandboxes.ts";
import {
  openSandboxThread,
  processesWith,
  type SandboxThread,
  whyUnavailable,
} from "./helpers/sandbox-thread.ts";

const noBubblewrap = await whyUnavailable("bubblewrap");

describe("the pool of sandboxes", () => {
  let setting: SandboxThread;
  const open = async (options: Partial<SandboxesOptions> = {}) => {
    setting = await openSandboxThread({ provider: "virtual", ...options });
    return setting;
  };
  const scratchOf = (threadId: string) => join(setting.dataDir, "threads", threadId, "sandbox-tmp");
  afterEach(() => setting.close());

  it("opens nothing before it is asked", async () => {
    const { sandboxes, dataDir, threadId } = await open();
    await sandboxes.describe();
    expect(sandboxes.current(threadId)).toBeUndefined();
    expect(await fs.readdir(dataDir)).toEqual([]);
  });

  it("gives parallel first calls, and later ones, the same sandbox", async () => {
    const { sandboxes, threadId } = await open();
    const [first, second] = await Promise.all([sandboxes.acquire(threadId), sandboxes.acquire(threadId)]);
    expect(second).toBe(first);
    expect(await sandboxes.acquire(threadId)).toBe(first);
    expect(sandboxes.current(threadId)).toBe(first);
    expect(first.id).toBe(`virtual:${threadId}`);
  });

  it("releases a sandbox that is idle, and not one that works", async () => {
    const { sandboxes, threadId } = await open({ idleMs: 50 });
    const sandbox = await sandboxes.acquire(threadId);
    expect((await sandbox.execute("sleep 0.3; echo x > /tmp/x; cat /tmp/x")).output).toBe("x\n");
    await vi.waitFor(() => expect(sandboxes.current(threadId)).toBeUndefined());
    await vi.waitFor(() => expect(existsSync(scratchOf(threadId))).toBe(false));
    const next = await sandboxes.acquire(threadId);
    expect(next).not.toBe(sandbox);
    expect((await next.execute("ls -A /tmp")).output).toBe("");
  });

  it("kills what runs when the sandbox is released", async () => {
    const { sandboxes, files, threadId } = await open();
    const sandbox = await sandboxes.acquire(threadId);
    const running = sandbox.execute("echo > started; while true; do true; done");
    await vi.waitFor(async () => {
      expect(await files.stat(threadId, "/mnt/user-data/workspace/started")).toBeDefined();
    }, 10_000);
    await Promise.all([sandboxes.release(threadId), sandboxes.release(threadId)]);
    expect((await running).exit_code).toBe(137);
    await sandboxes.release(threadId);
  });

  it("kills everything and refuses new work when it is closed", async () => {
    const { sandboxes, files } = await open();
    const threads = Array.from({ length: 3 }, () => randomUUID());
    const running = threads.map(async (thread) => {
      const sandbox = await sandboxes.acquire(thread);
      return sandbox.execute("echo > started; while true; do true; done");
    });
    for (const thread of threads) {
      await vi.waitFor(async () => {
        expect(await files.stat(thread, "/mnt/user-data/workspace/started")).toBeDefined();
      }, 10_000);
    }
    await sandboxes.close();
    for (const result of await Promise.all(running)) expect(result.exit_code).toBe(137);
    await expect(sandboxes.acquire(randomUUID())).rejects.toMatchObject({ code: "shutting_down" });
    for (const thread of threads) expect(existsSync(scratchOf(thread))).toBe(false);
  });

  it("opens a sandbox anew when its thread has been deleted in the meantime", async () => {
    const { sandboxes, files, threadId } = await open();
    const sandbox = await sandboxes.acquire(threadId);
    await sandbox.execute("echo old > f");
    await files.removeThread(threadId);
    await expect(sandbox.execute("cat f")).rejects.toMatchObject({ code: "sandbox_unavailable" });
    const next = await sandboxes.acquire(threadId);
    expect(next).not.toBe(sandbox);
    expect((await next.execute("ls; echo new > f; cat f")).output).toBe("new\n");
  });

  it.each(["auto", "virtual", "local"])(
    "lets a process end that has a %s sandbox waiting",
    async (provider) => {
      const { dataDir, threadId } = await open();
      const script = `
      import { createThreadFiles } from "./src/files/thread-files.ts";
      import { createSandboxes } from "./src/sandbox/sandboxes.ts";
      const dataDir = ${JSON.stringify(dataDir)};
      const files = createThreadFiles({ dataDir });
      const sandboxes = createSandboxes({ provider: "${provider}", dataDir, files });
      const sandbox = await sandboxes.acquire("${threadId}");
      process.stdout.write((await sandbox.execute("echo done")).output);
    `;
      const { stdout } = await promisify(execFile)(
        process.execPath,
        ["--disable-warning=ExperimentalWarning", "--input-type=module-typescript", "-e", script],
        { timeout: 20_000 },
      );
      expect(stdout).toBe("done\n");
    },
  );

  it.skipIf(noBubblewrap !== undefined)("leaves nothing running when the server is killed", async () => {
    const { dataDir, threadId } = await open();
    const nap = `93${Math.floor(Math.random() * 1e9)}`;
    const script = `
      import { createThreadFiles } from "./src/files/thread-files.ts";
      import { createSandboxes } from "./src/sandbox/sandboxes.ts";
      const dataDir = ${JSON.stringify(dataDir)};
      const files = createThreadFiles({ dataDir });
      const sandboxes = createSandboxes({ provider: "bubblewrap", dataDir, files });
      const sandbox = await sandboxes.acquire("${threadId}");
      await sandbox.execute("setsid nohup sleep ${nap} & sleep ${nap}");
    `;
    const server = spawn(process.execPath, ["--input-type=module-typescript", "-e", script], {
      stdio: "ignore",
    });
    const napping = async () => (await processesWith(nap)).filter((line) => line.startsWith("sleep"));
    await vi.waitFor(async () => expect(await napping()).toHaveLength(2), 10_000);
    server.kill("SIGKILL");
    await vi.waitFor(async () => expect(await processesWith(nap)).toEqual([]), 5_000);
  });

  it("sweeps scratch folders that a crashed server has left long ago", async () => {
    const { sandboxes, threadId } = await open();
    const [old, young] = [randomUUID(), randomUUID()];
    for (const thread of [old, young]) await fs.mkdir(join(scratchOf(thread), "x"), { recursive: true });
    const longAgo = new Date(Date.now() - 25 * 60 * 60 * 1000);
    await fs.utimes(scratchOf(old), longAgo, longAgo);
    await sandboxes.acquire(threadId);
    expect(existsSync(scratchOf(old))).toBe(false);
    expect(existsSync(scratchOf(young))).toBe(true);
  });

  it("tells whoever asked together of a failure, and tries anew for the next", async () => {
    const { sandboxes, threadId, dataDir } = await open();
    await fs.mkdir(join(dataDir, "threads"), { recursive: true });
    await fs.writeFile(join(dataDir, "threads", threadId), "in the way");
    const both = await Promise.allSettled([sandboxes.acquire(threadId), sandboxes.acquire(threadId)]);
    expect(both.map((one) => one.status)).toEqual(["rejected", "rejected"]);
    expect(sandboxes.current(threadId)).toBeUndefined();
    await fs.rm(join(dataDir, "threads", threadId));
    expect((await (await sandboxes.acquire(threadId)).execute("echo ok")).output).toBe("ok\n");
  });

  it("takes the best provider that works here, and says why not a better one", async () => {
    const description = await (await open({ provider: "auto" })).sandboxes.describe();
    expect(description.name).toBe(noBubblewrap === undefined ? "bubblewrap" : "virtual");
    if (noBubblewrap !== undefined) expect(description.reason).toContain("bubblewrap cannot be used here");
    // The trial leaves nothing.
    const threads = await fs.readdir(join(setting.dataDir, "threads")).catch(() => []);
    expect(threads).toEqual([]);
  });

  it("refuses the local provider where its paths could not stand in a command", async () => {
    const { dataDir, threadId } = await open();
    const spaced = join(dataDir, "with space");
    await fs.mkdir(spaced);
    const files = createThreadFiles({ dataDir: spaced });
    const local = createSandboxes({ provider: "local", dataDir: spaced, files });
    await expect(local.acquire(threadId)).rejects.toMatchObject({ code: "sandbox_unavailable" });
    await local.close();
  });
});
