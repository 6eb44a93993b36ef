// Takes a run: applies the multitask strategy and inserts the run, in one transaction that holds the thread's row.
// Only when it is committed does the caller hear of the run.
import { v7 as uuidV7 } from "uuid";
import type { AssistantRow } from "../assistants/assistants.sql.ts";
import type { Assistants } from "../assistants/assistants.ts";
import type { Database, Queryable } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { AppError, isAppError } from "../errors.ts";
import { threadNotFound } from "../threads/state.ts";
import {
  insertThread,
  lockThread,
  selectThreadVersion,
  type ThreadRow,
  type Ttl,
} from "../threads/threads.sql.ts";
import { whenDeleted } from "../threads/when-deleted.ts";
import { type Caller, mergeConfig, mergeContext, toAuthFields } from "./merge-config.ts";
import { findRun, toOnce } from "./once.ts";
import type { RunCommand, RunConfig, RunKwargs, StreamMode } from "./run-kwargs.ts";
import {
  addRun,
  insertRun,
  type MultitaskStrategy,
  markThreadBusy,
  type NewRun,
  type RunRow,
  selectCheckpoint,
  selectUnfinished,
} from "./runs.sql.ts";
import { deletePending, interruptPending, requestCancel } from "./stop-runs.sql.ts";

export interface RunRequest {
  /** Undefined: a stateless run, on a thread of its own. */
  readonly threadId: string | undefined;
  /** What limits the caller to some threads. */
  readonly scope?: Scope;
  /** What limits the caller to some assistants. */
  readonly assistantScope?: Scope;
  /** Who asks: told to the graph in `configurable.langgraph_auth_user`. */
  readonly caller?: Caller | undefined;
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
  /** Fail, and leave the thread as it is, when the command answers an interrupt that is not waiting. */
  readonly strictResume?: boolean | undefined;
  /** Whether the graph's stream transformers watch the run. */
  readonly transform?: boolean | undefined;
  readonly multitaskStrategy: MultitaskStrategy;
  readonly ifNotExists: "create" | "reject";
  readonly onCompletion: "delete" | "keep";
  /** Whom to tell of its end (`webhooks/target.ts`). */
  readonly webhook?: string | undefined;
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

interface CreateDeps {
  readonly assistants: Assistants;
  /** What a thread that is made for the run gets. */
  readonly ttl: Ttl | undefined;
}

/**
 * @throws AppError assistant_not_found, thread_not_found, checkpoint_not_found, thread_being_deleted, run_in_progress,
 *   idempotency_key_reused
 */
export async function createRun(
  { db, assistants, ttl }: CreateDeps & { db: Database },
  request: RunRequest,
): Promise<CreatedRun> {
  const assistant = await findAssistant(assistants, request);
  const added = request.idempotencyKey === undefined ? await addToIdle(db, request, assistant) : undefined;
  if (added) return { run: added, isNew: true, stopped: [] };
  return whenDeleted(() => db.transaction((tx) => addRunIn(tx, request, assistant, ttl)));
}

/** The same in the caller's transaction: the run is there when that is committed. @throws AppError as `createRun` does */
export async function createRunIn(
  tx: Queryable,
  { assistants, ttl }: CreateDeps,
  request: RunRequest,
): Promise<CreatedRun> {
  return addRunIn(tx, request, await findAssistant(assistants, request), ttl);
}

const findAssistant = (
  assistants: Assistants,
  { assistantId, assistantScope }: RunRequest,
): Promise<AssistantRow> =>
  assistants.get(assistantId, assistantScope).catch((error: unknown) => {
    if (!isAppError(error, "assistant_not_found")) throw error;
    throw new AppError(
      "assistant_not_found",
      `No assistant found for "${assistantId}". Make sure the assistant ID is for a valid assistant or a valid graph ID.`,
    );
  });

async function addRunIn(
  tx: Queryable,
  request: RunRequest,
  assistant: AssistantRow,
  ttl: Ttl | undefined,
): Promise<CreatedRun> {
  const once = toOnce(request);
  const before = once && (await findRun(tx, once));
  if (before) return { run: before, isNew: false, stopped: [] };
  const thread = await takeOrMakeThread(tx, request, ttl);
  const unfinished = await selectUnfinished(tx, thread.thread_id);
  const stopped =
    unfinished.length === 0 ? [] : await applyStrategy(tx, request.multitaskStrategy, unfinished);
  await checkStart(tx, thread, request);
  const { run, identity, config } = toNewRun(request, assistant, thread);
  if (unfinished.length === 0) await markThreadBusy(tx, thread.thread_id, identity, config);
  const [row] = await insertRun(tx, {
    ...run,
    idempotencyKey: once?.key ?? null,
    requestDigest: once?.digest ?? null,
  });
  if (!row) throw researchInProgress();
  return { run: row, isNew: true, stopped };
}

const researchInProgress = () =>
  new AppError(
    "run_in_progress",
    "Thread is already running deep research. Wait for it to finish, or stop it.",
  );

/** The short way, in two statements instead of six: for a thread on which nothing else happens now. */
async function addToIdle(
  db: Database,
  request: RunRequest,
  assistant: AssistantRow,
): Promise<RunRow | undefined> {
  const [thread] =
    request.threadId === undefined ? [] : await selectThreadVersion(db, request.threadId, request.scope);
  if (!thread || thread.status === "busy") return undefined;
  await checkStart(db, thread, request);
  const { run, identity, config } = toNewRun(request, assistant, thread);
  const [row] = await addRun(db, { version: thread.version, metadata: identity, config }, run);
  return row;
}

/** LangGraph would begin with an empty state. @throws AppError checkpoint_not_found */
async function checkStart(
  db: Queryable,
  { thread_id }: ThreadRow,
  { checkpoint }: RunRequest,
): Promise<void> {
  const { checkpoint_id, checkpoint_ns = "" } = checkpoint ?? {};
  if (checkpoint_id === undefined) return;
  const [found] = await selectCheckpoint(db, thread_id, checkpoint_ns, checkpoint_id);
  if (!found) throw new AppError("checkpoint_not_found", `Checkpoint ${checkpoint_id} not found`);
}

function toNewRun(request: RunRequest, assistant: AssistantRow, thread: ThreadRow) {
  const runId = uuidV7();
  const identity = { graph_id: assistant.graph_id, assistant_id: assistant.assistant_id };
  const { thread_id } = thread;
  // What the thread keeps for those who read its state later, and what of it later runs go by.
  const config = mergeConfig(assistant.config, thread.config, request.config);
  const run: NewRun = {
    runId,
    threadId: thread_id,
    assistantId: assistant.assistant_id,
    kwargs: toKwargs(request, assistant, {
      ...mergeConfig(assistant.config, request.config),
      configurable: {
        ...mergeConfig(config, { configurable: request.headers }).configurable,
        ...toAuthFields(request.caller, config),
        run_id: runId,
        thread_id,
        ...identity,
      },
    }),
    metadata: { ...assistant.metadata, ...thread.metadata, ...request.metadata, ...identity },
    multitaskStrategy: request.multitaskStrategy,
    afterSeconds: request.afterSeconds,
  };
  return { run, identity, config };
}

async function takeOrMakeThread(
  tx: Queryable,
  request: RunRequest,
  ttl: Ttl | undefined,
): Promise<ThreadRow> {
  const { threadId, scope, ifNotExists, metadata } = request;
  if (threadId !== undefined) {
    const [thread] = await lockThread(tx, threadId, scope);
    if (thread) return thread;
    if (ifNotExists === "reject") throw threadNotFound(threadId);
  }
  const id = threadId ?? uuidV7();
  const [made] = await insertThread(tx, id, metadata ?? {}, isTemporary(request) ? undefined : ttl);
  if (made) return made;
  // Another request made it between the look and the insert, or it is somebody else's.
  const [thread] = await lockThread(tx, id, scope);
  if (!thread) throw threadNotFound(id);
  return thread;
}

const isTemporary = ({ threadId, onCompletion }: RunRequest) =>
  threadId === undefined && onCompletion === "delete";
/** The `cancel_reason` of runs that a newer one stops. */
const NEWER_RUN = "multitask: a newer run of the thread has stopped it";

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
      await interruptPending(tx, ids, NEWER_RUN);
      await requestCancel(tx, ids, "interrupt", NEWER_RUN);
      return ids;
    case "rollback":
      await deletePending(tx, ids);
      await requestCancel(tx, ids, "rollback", NEWER_RUN);
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
    webhook: request.webhook,
    strict_resume: request.strictResume,
    transform: request.transform,
    temporary: isTemporary(request),
  };
}
