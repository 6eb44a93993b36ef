// What the thread protocol is made of, and who speaks it.
import type { Assistants } from "../assistants/assistants.ts";
import type { Scope } from "../db/scope.ts";
import type { RunRequest } from "../runs/create-run.ts";
import type { Runs } from "../runs/runs.ts";
import type { ThreadStates } from "../threads/state.ts";
import type { Threads } from "../threads/threads.ts";
import type { FollowThreadDeps } from "./follow-thread.ts";

export interface ProtocolDeps extends FollowThreadDeps {
  readonly assistants: Assistants;
  readonly runs: Runs;
  readonly threads: Threads;
  readonly states: ThreadStates;
}

/** Who sends a command, and what he may do. */
export interface Sender {
  readonly caller: RunRequest["caller"];
  /** What the request's headers say, for `configurable`. */
  readonly headers: Record<string, string>;
  /** @throws AppError forbidden */
  check(resource: "threads", action: "create_run" | "read", value: Record<string, unknown>): Promise<Scope>;
  /** What limits him to some assistants, when he runs this one. */
  runnable(assistantId: string): Promise<Scope>;
}
