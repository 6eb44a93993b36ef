// Stops runs on request, and removes them: one, or all that are asked for. A run that is running ends a moment later, by
// its worker's hand.
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError, isAppError } from "../errors.ts";
import type { ThreadStates } from "../threads/state.ts";
import { lockThread, selectThreadVersion } from "../threads/threads.sql.ts";
import { deleteEndedRun } from "./roll-back.sql.ts";
import { type CancelAction, type RunStatus, selectRun } from "./runs.sql.ts";
import {
  deletePending,
  describeThread,
  interruptPending,
  requestCancel,
  selectStoppable,
  settleThread,
} from "./stop-runs.sql.ts";

interface CancelOptions {
  readonly action?: CancelAction;
  /** The run's `cancel_reason`. */
  readonly reason?: string;
  readonly scope?: Scope;
}

/** The runs to stop: of a thread, by id, by status; all that is said must hold. */
interface ManyRuns {
  readonly threadId?: string | undefined;
  readonly runIds?: readonly string[] | undefined;
  /** "running", or "pending"; undefined is both. */
  readonly status?: RunStatus | undefined;
}

interface StopDeps {
  readonly db: Database;
  readonly states: ThreadStates;
  /** Tells the worker that has the run. */
  readonly tell: (runId: string, action: CancelAction) => void;
  /** Waits until the run has ended or is gone. */
  readonly ended: (runId: string) => Promise<void>;
}

export interface StopRuns {
  /** Returns at once; the run ends soon. Nothing to do for a run that has ended. @throws AppError run_not_found */
  cancel(threadId: string, runId: string, options?: CancelOptions): Promise<void>;
  /** Returns how many there are; of `runIds` also those that have ended. */
  cancelMany(runs: ManyRuns, options?: CancelOptions): Promise<number>;
  /**
   * Removes a run and the checkpoints it made; one that has not ended is stopped first. The thread's state is then the
   * newest that is left. @throws AppError run_not_found
   */
  remove(threadId: string, runId: string, scope: Scope): Promise<void>;
}

export function createStopRuns({ db, states, tell, ended }: StopDeps): StopRuns {
  const cancel: StopRuns["cancel"] = async (threadId, runId, options = {}) => {
    const { action = "interrupt", reason = "requested", scope } = options;
    await db.transaction(async (tx) => {
      // A claim of this run that is under way comes before or after, never between the two statements.
      await lockThread(tx, threadId, scope);
      const [run] = await selectRun(tx, threadId, runId, scope);
      if (!run) throw runNotFound();
      await (action === "rollback" ? deletePending(tx, [runId]) : interruptPending(tx, [runId], reason));
      await requestCancel(tx, [runId], action, reason);
      await settleThread(tx, threadId);
    });
    tell(runId, action);
  };

  return {
    cancel,
    async cancelMany(wanted, options = {}) {
      const runs = await selectStoppable(db, wanted, options.scope);
      for (const { thread_id, run_id } of runs) {
        await cancel(thread_id, run_id, options).catch((error: unknown) => {
          // It has been removed in the meantime.
          if (!isAppError(error, "run_not_found")) throw error;
        });
      }
      return runs.length;
    },
    async remove(threadId, runId, scope) {
      await cancel(threadId, runId, { action: "rollback", reason: "deleted", scope });
      await ended(runId);
      const isLeft = await db.transaction(async (tx) => {
        // A run that is added waits: it then starts from what is left.
        await lockThread(tx, threadId);
        return (await deleteEndedRun(tx, { threadId, runId })).length > 0;
      });
      // Else its worker has rolled it back, or nobody had started it.
      if (isLeft) await describe(threadId);
    },
  };

  /** The thread's status and interrupts, from its state; a run that begins meanwhile knows better. */
  async function describe(threadId: string): Promise<void> {
    const [thread] = await selectThreadVersion(db, threadId);
    if (!thread || thread.status === "busy") return;
    const state = await states.get(threadId).catch((error: unknown) => {
      // The run is gone all the same; what its thread waits for, nobody can tell.
      if (isAppError(error, "graph_not_loaded")) return undefined;
      throw error;
    });
    const waiting = state?.tasks.filter((task) => task.interrupts.length > 0) ?? [];
    await describeThread(db, {
      threadId,
      version: thread.version,
      interrupts: Object.fromEntries(waiting.map((task) => [task.id, task.interrupts])),
    });
  }
}

export const runNotFound = () => new AppError("run_not_found", "Run not found");
