// Where the agent's commands run. The interface only; the providers are in src/sandbox/. A sandbox sees the
// thread's three folders under /mnt/user-data and a scratch /tmp of its own, and nothing else of the machine.

/** Document 000 `SandboxState`. */
export interface SandboxState {
  sandbox_id?: string | null;
}

export interface ExecuteOptions {
  /** Milliseconds until everything the command started is killed. */
  readonly timeoutMs?: number;
  /** Aborting kills like a time-out. */
  readonly signal?: AbortSignal;
  /** Text for standard input; empty by default. */
  readonly stdin?: string;
  /** Characters kept of the output: beyond it the middle is cut out, with a note of how much. */
  readonly maxOutputChars?: number;
}

export interface ExecuteResult {
  /** The command's exit code; 124 after a time-out, 137 when killed. */
  readonly exit_code: number;
  /** Standard output and standard error as they came, virtual paths only. */
  readonly output: string;
  readonly truncated: boolean;
  readonly timed_out: boolean;
}

/** One thread's sandbox. Calls may run in parallel. Working directory: /mnt/user-data/workspace. */
export interface Sandbox {
  /** For the state's `sandbox.sandbox_id`; `<provider>:<thread_id>`. */
  readonly id: string;
  execute(command: string, options?: ExecuteOptions): Promise<ExecuteResult>;
}

export interface SandboxDescription {
  readonly name: "bubblewrap" | "virtual" | "local";
  /** What a command may expect and does not find, in words for a person: "no python", "no git". */
  readonly lacks: readonly string[];
  /** Why it should not be used for strangers' input, where that is so. */
  readonly warning?: string;
  /** Why it was chosen, where something better was tried first. */
  readonly reason?: string;
}

/** Sandboxes of all threads: acquired at first use, kept over the turns of a thread, released when idle. */
export interface Sandboxes {
  describe(): Promise<SandboxDescription>;
  /** The thread's sandbox, made at the first call; parallel first calls get the same one. */
  acquire(threadId: string): Promise<Sandbox>;
  /** The thread's sandbox if it has one now. */
  current(threadId: string): Sandbox | undefined;
  /** Kills what runs and removes the scratch folder. */
  release(threadId: string): Promise<void>;
  close(): Promise<void>;
}
