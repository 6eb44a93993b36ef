// Runs as the API sees them: taken, watched, waited for, listed, cancelled. Joins queue, worker and event log.
import type { Assistants } from "../assistants/assistants.ts";
import type { Checkpointer } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { isAppError } from "../errors.ts";
import { selectSeqOfCheckpoint } from "../events/event-log.sql.ts";
import { type FollowedEvent, type FollowOptions, follow } from "../events/follow.ts";
import type { Hub } from "../events/hub.ts";
import type { Wakeups } from "../events/wakeups.ts";
import type { ThreadStates } from "../threads/state.ts";
import type { Threads } from "../threads/threads.ts";
import { type CreatedRun, createRun, createRunIn, type RunRequest } from "./create-run.ts";
import { readLast, readResult } from "./read-result.ts";
import {
  type CancelAction,
  type MultitaskStrategy,
  type RunRow,
  type RunStatus,
  selectRun,
  selectRuns,
} from "./runs.sql.ts";
import { type EventSelection, selectEvents } from "./select-events.ts";
import { createStopRuns, runNotFound, type StopRuns } from "./stop-runs.ts";
import type { Worker } from "./worker.ts";

export interface Runs extends StopRuns {
  /** Committed when it returns. @throws AppError as `createRun` does */
  create(request: RunRequest): Promise<Pick<CreatedRun, "run" | "isNew">>;
  /** In the caller's transaction; when that is committed, `announce` is to be called. @throws AppError as `createRun` does */
  createIn(tx: Queryable, request: RunRequest): Promise<CreatedRun>;
  /** Tells workers of a run that is committed, and runs that it stops that they are to stop. */
  announce(created: Pick<CreatedRun, "stopped">, strategy: MultitaskStrategy): void;
  /** All of them, or none. @throws AppError as `createRun` does */
  createAll(requests: readonly RunRequest[]): Promise<RunRow[]>;
  /** Without a thread, of any of the caller's. @throws AppError run_not_found */
  get(threadId: string | undefined, runId: string, scope?: Scope): Promise<RunRow>;
  /** Newest first; the thread must be in all scopes. @throws AppError thread_not_found */
  list(
    threadId: string,
    page: { limit: number; offset: number; status?: RunStatus | undefined },
    scopes: readonly Scope[],
  ): Promise<RunRow[]>;
  /** The run's events in pages, to its end; those that are wanted. */
  follow(runId: string, options: FollowOptions & EventSelection): AsyncGenerator<readonly FollowedEvent[]>;
  /** The id of the event after which what follows a checkpoint comes; -1 when the run does not tell. */
  seqOfCheckpoint(runId: string, checkpointId: string): Promise<number>;
  /**
   * Waits for the end. The state values then, or `{ __error__ }`, also when the run is deleted meanwhile.
   * @throws the signal's reason when it aborts
   */
  join(run: RunRow, options: Pick<FollowOptions, "isNew"> & { signal: AbortSignal }): Promise<unknown>;
  /** Stops what runs on the thread and removes all of it. @throws AppError thread_not_found */
  deleteThread(threadId: string, options?: { scope?: Scope; isExpired?: boolean }): Promise<void>;
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
  /** Refuse what could never be as it is asked for. @throws AppError */
  readonly checks: readonly ((request: RunRequest) => void | Promise<void>)[];
}

export function createRuns(options: RunsOptions): Runs {
  const { db, hub, wakeups, checkpointer, assistants, threads, states, worker, removeFiles, checks } =
    options;
  const reader = { db, hub, checkpointer };
  /** The run is here, or another server's: either way it hears of it. */
  const stop = (runId: string, action: CancelAction) => {
    worker.stop(runId, action);
    if (!worker.has(runId)) wakeups.send({ kind: "cancel", runId });
    hub.wake(runId);
  };
  const get: Runs["get"] = async (threadId, runId, scope) => {
    const [run] = await selectRun(db, threadId, runId, scope);
    if (!run) throw runNotFound();
    return run;
  };
  const ended = async (runId: string) => {
    for await (const _ of follow(reader, runId, { unread: true }));
  };

  const check = async (request: RunRequest) => {
    for (const one of checks) await one(request);
  };
  const announce: Runs["announce"] = ({ stopped }, strategy) => {
    for (const runId of stopped) stop(runId, strategy === "rollback" ? "rollback" : "interrupt");
    worker.wake();
    if (!worker.hasRoom()) wakeups.send({ kind: "queue" });
  };

  return {
    ...createStopRuns({ db, states, tell: stop, ended }),
    get,
    async create(request) {
      await check(request);
      const created = await createRun({ db, assistants, ttl: threads.ttl }, request);
      announce(created, request.multitaskStrategy);
      return created;
    },
    createIn: (tx, request) => createRunIn(tx, { assistants, ttl: threads.ttl }, request),
    announce,
    async createAll(requests) {
      for (const request of requests) await check(request);
      const created = await db.transaction(async (tx) => {
        const all: CreatedRun[] = [];
        for (const request of requests)
          all.push(await createRunIn(tx, { assistants, ttl: threads.ttl }, request));
        return all;
      });
      for (const one of created) announce(one, one.run.multitask_strategy);
      return created.map(({ run }) => run);
    },
    async list(threadId, page, scopes) {
      for (const scope of new Set(scopes)) await threads.get(threadId, scope);
      return selectRuns(db, threadId, page);
    },
    follow(runId, options) {
      const pages = follow(reader, runId, options);
      return options.modes || options.namespaces ? selectEvents(pages, options) : pages;
    },
    seqOfCheckpoint: (runId, checkpointId) => selectSeqOfCheckpoint(db, runId, checkpointId),
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
      try {
        const ended = await get(run.thread_id, run.run_id);
        if (ended.error) return { __error__: ended.error };
        return await readResult({ db, checkpointer, states }, ended);
      } catch (error) {
        if (isAppError(error, "run_not_found") || isAppError(error, "thread_not_found")) return DELETED;
        throw error;
      }
    },
    async deleteThread(threadId, options) {
      await threads.remove(threadId, options);
      await worker.abandonThread(threadId);
      try {
        await removeFiles(threadId);
      } catch (error) {
        // The thread is gone. What another storage has of it is swept away when that answers again.
        if (isAppError(error, "storage_unavailable")) return;
        throw error;
      }
      await threads.removeLeftovers(threadId);
    },
  };
}

const DELETED = {
  __error__: {
    error: "RunDeleted",
    message: "The run was deleted or rolled back before its result was read.",
  },
};
