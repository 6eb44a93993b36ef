// Takes a run: applies the multitask strategy and inserts the run, in one transaction that holds the thread's row.
// Only when it is committed does the caller hear of the run.
import { createHash } from "node:crypto";
import { v7 as uuidV7 } from "uuid";
import type { AssistantRow } from "../assistants/assistants.sql.ts";
import type { Assistants } from "../assistants/assistants.ts";
import type { Database, Queryable } from "../db/database.ts";
import { AppError, isAppError } from "../errors.ts";
import { threadNotFound } from "../threads/state.ts";
import { insertThread, lockThread, selectThreadVersion, type ThreadRow } from "../threads/threads.sql.ts";
import type { RunCommand, RunConfig, RunKwargs, StreamMode } from "./run-kwargs.ts";
import {
  addRun,
  deletePending,
  insertRun,
  interruptPending,
  lockIdempotencyKey,
  type MultitaskStrategy,
  markThreadBusy,
  type NewRun,
  type RunRow,
  requestCancel,
  selectRunByKey,
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
  /** Sent again with the same key, the request gets the run that it has made the first time. */
  readonly idempotencyKey?: string | undefined;
  /** Added to `configurable`: what the request's headers say. */
  readonly headers: Record<string, string>;
}

export interface CreatedRun {
  readonly run: RunRow;
  /** False when an earlier request with the same key has made it. */
  readonly isNew: boolean;
  /** Runs of the thread that were told to stop, or are gone. */
  readonly stopped: readonly string[];
}

/** @throws AppError assistant_not_found, thread_not_found, run_in_progress, idempotency_key_reused */
export async function createRun(
  { db, assistants }: { db: Database; assistants: Assistants },
  request: RunRequest,
): Promise<CreatedRun> {
  const assistant = await assistants.get(request.assistantId).catch((error: unknown) => {
    if (!isAppError(error, "assistant_not_found")) throw error;
    throw new AppError(
      "assistant_not_found",
      `No assistant found for "${request.assistantId}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
    );
  });
  const once = toOnce(request);
  const added = once ? undefined : await addToIdle(db, request, assistant);
  if (added) return { run: added, isNew: true, stopped: [] };
  return db.transaction(async (tx) => {
    const before = once && (await findRun(tx, once));
    if (before) return { run: before, isNew: false, stopped: [] };
    const thread = await takeOrMakeThread(tx, request);
    const unfinished = await selectUnfinished(tx, thread.thread_id);
    const stopped =
      unfinished.length === 0 ? [] : await applyStrategy(tx, request.multitaskStrategy, unfinished);
    const { run, identity, config } = toNewRun(request, assistant, thread);
    if (unfinished.length === 0) await markThreadBusy(tx, thread.thread_id, identity, config);
    const [row] = await insertRun(tx, {
      ...run,
      idempotencyKey: once?.key ?? null,
      requestDigest: once?.digest ?? null,
    });
    if (!row) throw new Error("the run was not inserted");
    return { run: row, isNew: true, stopped };
  });
}

/** The short way, in two statements instead of six: for a thread on which nothing else happens now. */
async function addToIdle(
  db: Database,
  request: RunRequest,
  assistant: AssistantRow,
): Promise<RunRow | undefined> {
  const [thread] = request.threadId === undefined ? [] : await selectThreadVersion(db, request.threadId);
  if (!thread || thread.status === "busy") return undefined;
  const { run, identity, config } = toNewRun(request, assistant, thread);
  const [row] = await addRun(db, { version: thread.version, metadata: identity, config }, run);
  return row;
}

function toNewRun(request: RunRequest, assistant: AssistantRow, thread: ThreadRow) {
  const runId = uuidV7();
  const config = mergeConfig(mergeConfig(assistant.config, thread.config), request.config ?? {});
  const identity = { graph_id: assistant.graph_id, assistant_id: assistant.assistant_id };
  const { thread_id } = thread;
  const run: NewRun = {
    runId,
    threadId: thread_id,
    assistantId: assistant.assistant_id,
    kwargs: toKwargs(request, assistant, {
      ...config,
      configurable: { ...config.configurable, ...request.headers, run_id: runId, thread_id, ...identity },
    }),
    metadata: { ...assistant.metadata, ...thread.metadata, ...request.metadata, ...identity },
    multitaskStrategy: request.multitaskStrategy,
    afterSeconds: request.afterSeconds,
  };
  return { run, identity, config };
}

interface Once {
  readonly key: string;
  readonly digest: string;
}

/** A key counts for its thread; those of stateless runs are one space. */
function toOnce({ idempotencyKey, headers: _, ...request }: RunRequest): Once | undefined {
  if (idempotencyKey === undefined) return undefined;
  const digest = createHash("sha256").update(JSON.stringify(request)).digest("base64url");
  return { key: `${request.threadId ?? ""}:${idempotencyKey}`, digest };
}

async function findRun(tx: Queryable, { key, digest }: Once): Promise<RunRow | undefined> {
  await lockIdempotencyKey(tx, key);
  const [found] = await selectRunByKey(tx, key);
  if (!found) return undefined;
  const { request_digest, ...run } = found;
  if (request_digest === digest) return run;
  throw new AppError(
    "idempotency_key_reused",
    "Another request was sent with this Idempotency-Key. Take a new key for each request.",
  );
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
