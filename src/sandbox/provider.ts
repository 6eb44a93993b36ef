// What a provider of sandboxes is to the pool: it opens one thread's sandbox on folders that exist, and runs
// commands in it. Time-outs, ids, idling and scratch folders are the pool's.
import type { ExecuteResult, SandboxDescription } from "../kit/sandbox.ts";

/** Host paths of one thread. Never shown to anyone. */
export interface SandboxFolders {
  readonly threadId: string;
  /** DATA_DIR, which holds the other paths. */
  readonly dataDir: string;
  readonly workspace: string;
  readonly uploads: string;
  readonly outputs: string;
  /** The sandbox's /tmp. */
  readonly scratch: string;
}

/** One command with everything decided. */
export interface Command {
  readonly command: string;
  readonly stdin: string;
  readonly timeoutMs: number;
  readonly maxOutputChars: number;
  /** Aborted when the caller gives up or the sandbox is released. */
  readonly signal: AbortSignal;
}

export interface ProviderSandbox {
  /** Resolves when the command and everything it started is gone. */
  execute(command: Command): Promise<ExecuteResult>;
  /** Called when nothing runs any more. */
  close(): Promise<void>;
}

export interface Provider {
  readonly description: SandboxDescription;
  open(folders: SandboxFolders): Promise<ProviderSandbox>;
  /** Called when all its sandboxes are closed. */
  close(): void;
}

/** Bounds on what a command may use. Which of them hold depends on the provider. */
export interface SandboxLimits {
  /** Milliseconds, where the call sets none. */
  readonly timeoutMs: number;
  /** Where the call sets none. */
  readonly maxOutputChars: number;
  readonly maxFileBytes: number;
  /** Of each process; no bound holds for all of them together. */
  readonly maxMemoryBytes: number;
  readonly maxProcesses: number;
}

export const DEFAULT_LIMITS: SandboxLimits = {
  timeoutMs: 600_000,
  maxOutputChars: 20_000,
  maxFileBytes: 1024 ** 3,
  maxMemoryBytes: 2 * 1024 ** 3,
  maxProcesses: 256,
};

/** Exit codes that the shell's own tools use for the same (timeout(1), and 128 + SIGKILL). */
export const EXIT_TIMED_OUT = 124;
export const EXIT_KILLED = 137;
