// Takes a run: applies the multitask strategy and inserts the run, in one transaction that holds the thread's row.
// Only when it is committed does the caller hear of the run.
import { v7 as uuidV7 } from "uuid";
import type { AssistantRow } from "../assistants/assistants.sql.ts";
import type { Assistants } from "../assistants/assistants.ts";
import type { Database, Queryable } from "../db/database.ts";
import { AppError } from "../errors.ts";
import { threadNotFound } from "../threads/state.ts";
import { insertThread, lockThread, type ThreadRow } from "../threads/threads.sql.ts";
import type { RunCommand, RunConfig, RunKwargs, StreamMode } from "./run-kwargs.ts";
import {
  deletePending,
  insertRun,
  interruptPending,
  type MultitaskStrategy,
  markThreadBusy,
  type RunRow,
  requestCancel,
  selectUnfinished,
} from "./runs.sql.ts";

export interface RunRequest {
  /** Undefined: a stateless run, on a thread of its own. */
  readonly threadId: string | undefined;
  /** Assistant id or graph name. */
  readonly assistantId: string;
  readonly input: unknown;
  readonly command?: RunCommand | undefined;
  readonly config?: RunConfig | undefined;
  readonly context?: unknown;
  readonly metadata?: Record<string, unknown> | undefined;
  readonly streamMode: readonly StreamMode[];
  readonly streamSubgraphs: boolean;
  readonly interruptBefore?: "*" | readonly string[] | undefined;
  readonly interruptAfter?: "*" | readonly string[] | undefined;
  readonly checkpoint?: RunKwargs["checkpoint"];
  readonly multitaskStrategy: MultitaskStrategy;
  readonly ifNotExists: "create" | "reject";
  readonly onCompletion: "delete" | "keep";
  readonly afterSeconds: number;
  /** Added to `configurable`: what the request's headers say. */
  readonly headers: Record<string, string>;
}

export interface CreatedRun {
  readonly run: RunRow;
  /** Runs of the thread that were told to stop, or are gone. */
  readonly stopped: readonly string[];
}

/** @throws AppError assistant_not_found, thread_not_found, run_in_progress */
export async function createRun(
  { db, assistants }: { db: Database; assistants: Assistants },
  request: RunRequest,
): Promise<CreatedRun> {
  const assistant = await assistants.get(request.assistantId).catch((error: unknown) => {
    if (!(error instanceof AppError)) throw error;
    throw new AppError(
      "assistant_not_found",
      `No assistant found for "${request.assistantId}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
    );
  });
  return db.transaction(async (tx) => {
    const thread = await takeOrMakeThread(tx, request);
    const unfinished = await selectUnfinished(tx, thread.thread_id);
    const stopped =
      unfinished.length === 0 ? [] : await applyStrategy(tx, request.multitaskStrategy, unfinished);

    const runId = uuidV7();
    const config = mergeConfig(mergeConfig(assistant.config, thread.config), request.config ?? {});
    const identity = { graph_id: assistant.graph_id, assistant_id: assistant.assistant_id };
    if (unfinished.length === 0) await markThreadBusy(tx, thread.thread_id, identity, config);
    const [run] = await insertRun(tx, {
      runId,
      threadId: thread.thread_id,
      assistantId: assistant.assistant_id,
      kwargs: toKwargs(request, assistant, {
        ...config,
        configurable: {
          ...config.configurable,
          ...request.headers,
          run_id: runId,
          thread_id: thread.thread_id,
          ...identity,
        },
      }),
      metadata: { ...assistant.metadata, ...thread.metadata, ...request.metadata, ...identity },
      multitaskStrategy: request.multitaskStrategy,
      afterSeconds: request.afterSeconds,
    });
    if (!run) throw new Error("the run was not inserted");
    return { run, stopped };
  });
}

async function takeOrMakeThread(
  tx: Queryable,
  { threadId, ifNotExists, metadata }: RunRequest,
): Promise<ThreadRow> {
  if (threadId !== undefined) {
    const [thread] = await lockThread(tx, threadId);
    if (thread) return thread;
    if (ifNotExists === "reject") throw threadNotFound(threadId);
  }
  const id = threadId ?? uuidV7();
  const [made] = await insertThread(tx, id, metadata ?? {});
  if (made) return made;
  // Another request made it between the look and the insert.
  const [thread] = await lockThread(tx, id);
  if (!thread) throw threadNotFound(id);
  return thread;
}

async function applyStrategy(
  tx: Queryable,
  strategy: MultitaskStrategy,
  unfinished: readonly { run_id: string }[],
): Promise<string[]> {
  const ids = unfinished.map((run) => run.run_id);
  switch (strategy) {
    case "reject":
      throw new AppError(
        "run_in_progress",
        "Thread is already running a task. Wait for it to finish or choose a different multitask strategy.",
      );
    case "enqueue":
      return [];
    case "interrupt":
      await interruptPending(tx, ids);
      await requestCancel(tx, ids, "interrupt");
      return ids;
    case "rollback":
      await deletePending(tx, ids);
      await requestCancel(tx, ids, "rollback");
      return ids;
  }
}

function toKwargs(request: RunRequest, assistant: AssistantRow, config: RunConfig): RunKwargs {
  return {
    input: request.input ?? null,
    command: request.command,
    config,
    context: mergeContext(assistant.context, request.context),
    stream_mode: request.streamMode,
    stream_subgraphs: request.streamSubgraphs,
    interrupt_before: request.interruptBefore,
    interrupt_after: request.interruptAfter,
    checkpoint: request.checkpoint,
    temporary: request.threadId === undefined && request.onCompletion === "delete",
  };
}

/** Later wins; `configurable` is merged key by key. A client's `__` keys are LangGraph's own and are left out. */
function mergeConfig(base: RunConfig, over: RunConfig): RunConfig {
  const configurable = Object.entries({ ...base.configurable, ...over.configurable });
  return {
    ...base,
    ...over,
    configurable: Object.fromEntries(configurable.filter(([key]) => !key.startsWith("__"))),
  };
}

const isRecord = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);

function mergeContext(base: Record<string, unknown>, over: unknown): unknown {
  if (over === undefined) return Object.keys(base).length > 0 ? base : undefined;
  return isRecord(over) ? { ...base, ...(over as object) } : over;
}
