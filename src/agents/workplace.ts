// Where this process's agents work: the threads' files, and one pool of sandboxes for all of them.
import { createTools } from "../../tools/index.ts";
import { loadConfig } from "../config.ts";
import { createThreadFiles } from "../files/thread-files.ts";
import { createSandboxes } from "../sandbox/sandboxes.ts";

const { dataDir, sandbox, limits } = loadConfig();
export const commandTimeoutMs = limits.command_timeout_seconds * 1000;
export const files = createThreadFiles({ dataDir });
export const sandboxes = createSandboxes({
  provider: sandbox,
  dataDir,
  files,
  idleMs: limits.sandbox_idle_seconds * 1000,
  limits: { timeoutMs: commandTimeoutMs, maxMemoryBytes: limits.command_memory_mb * 1024 ** 2 },
});
export const tools = createTools({ files, sandboxes, limits: { bashTimeoutMs: commandTimeoutMs } });

/** Called when the server stops: commands that still run are killed, scratch folders are removed. */
export const close = () => sandboxes.close();
