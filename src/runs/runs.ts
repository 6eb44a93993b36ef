// Runs as the API sees them: taken, watched, waited for, listed, cancelled. Joins queue, worker and event log.
import type { Assistants } from "../assistants/assistants.ts";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import { AppError } from "../errors.ts";
import { type FollowedEvent, type FollowOptions, follow } from "../events/follow.ts";
import type { Hub } from "../events/hub.ts";
import type { Wakeups } from "../events/wakeups.ts";
import type { ThreadStates } from "../threads/state.ts";
import { lockThread } from "../threads/threads.sql.ts";
import type { Threads } from "../threads/threads.ts";
import { type CreatedRun, createRun, type RunRequest } from "./create-run.ts";
import { readLast, readResult } from "./read-result.ts";
import {
  type CancelAction,
  deletePending,
  interruptPending,
  type RunRow,
  type RunStatus,
  requestCancel,
  selectRun,
  selectRuns,
  settleThread,
} from "./runs.sql.ts";
import type { Worker } from "./worker.ts";

export interface Runs {
  /** Committed when it returns. @throws AppError as `createRun` does */
  create(request: RunRequest): Promise<Pick<CreatedRun, "run" | "isNew">>;
  /** @throws AppError run_not_found */
  get(threadId: string, runId: string): Promise<RunRow>;
  /** Newest first. @throws AppError thread_not_found */
  list(
    threadId: string,
    page: { limit: number; offset: number; status?: RunStatus | undefined },
  ): Promise<RunRow[]>;
  /** The run's events in pages, to its end. */
  follow(runId: string, options: FollowOptions): AsyncGenerator<readonly FollowedEvent[]>;
  /** Waits for the end. The state values then, or `{ __error__ }`. @throws the signal's reason when it aborts */
  join(run: RunRow, options: Pick<FollowOptions, "isNew"> & { signal: AbortSignal }): Promise<unknown>;
  /** Returns at once; the run ends soon. Nothing to do for a run that has ended. @throws AppError run_not_found */
  cancel(threadId: string, runId: string, action: CancelAction): Promise<void>;
  /** Stops what runs on the thread and removes all of it. @throws AppError thread_not_found */
  deleteThread(threadId: string): Promise<void>;
}

interface RunsOptions {
  readonly db: Database;
  readonly hub: Hub;
  readonly wakeups: Wakeups;
  readonly checkpointer: Checkpointer;
  readonly assistants: Assistants;
  readonly threads: Threads;
  readonly states: ThreadStates;
  readonly worker: Worker;
  readonly removeFiles: (threadId: string) => Promise<void>;
}

export function createRuns(options: RunsOptions): Runs {
  const { db, hub, wakeups, checkpointer, assistants, threads, states, worker, removeFiles } = options;
  const reader = { db, hub, checkpointer };
  /** The run is here, or another server's: either way it hears of it. */
  const stop = (runId: string, action: CancelAction) => {
    worker.stop(runId, action);
    if (!worker.has(runId)) wakeups.send({ kind: "cancel", runId });
    hub.wake(runId);
  };
  const get = async (threadId: string, runId: string) => {
    const [run] = await selectRun(db, threadId, runId);
    if (!run) throw new AppError("run_not_found", "Run not found");
    return run;
  };

  return {
    get,
    async create(request) {
      const { run, isNew, stopped } = await createRun({ db, assistants }, request);
      for (const runId of stopped) {
        stop(runId, request.multitaskStrategy === "rollback" ? "rollback" : "interrupt");
      }
      worker.wake();
      if (!worker.hasRoom()) wakeups.send({ kind: "queue" });
      return { run, isNew };
    },
    async list(threadId, page) {
      await threads.get(threadId);
      return selectRuns(db, threadId, page);
    },
    follow: (runId, options) => follow(reader, runId, options),
    async join(run, { isNew = false, signal }) {
      let last: FollowedEvent | undefined;
      const after = isNew ? { after: -1, isNew } : {};
      for await (const page of follow(reader, run.run_id, { ...after, unread: true, signal })) {
        if (page.length === 0) last = undefined;
        last = page.findLast(({ event }) => event === "values" || event === "error") ?? last;
      }
      signal.throwIfAborted();
      const result = last && readLast(last);
      if (result) return result;
      const ended = await get(run.thread_id, run.run_id);
      if (ended.error) return { __error__: ended.error };
      return readResult({ db, checkpointer, states }, ended);
    },
    async cancel(threadId, runId, action) {
      await db.transaction(async (tx) => {
        await lockThread(tx, threadId);
        const [run] = await selectRun(tx, threadId, runId);
        if (!run) throw new AppError("run_not_found", "Run not found");
        await (action === "rollback" ? deletePending : interruptPending)(tx, [runId]);
        await requestCancel(tx, [runId], action);
        await settleThread(tx, threadId);
      });
      stop(runId, action);
    },
    async deleteThread(threadId) {
      await threads.remove(threadId);
      await worker.abandonThread(threadId);
      await removeFiles(threadId);
    },
  };
}
