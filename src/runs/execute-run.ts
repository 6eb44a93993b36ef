// Runs one claimed run to its end: graph, events, terminal status. Knows nothing of queues; the worker gives it a run
// and a signal, whose reason says why it must stop.
import type { Logger } from "pino";
import { type Checkpointer, FencedError } from "../db/checkpointer.ts";
import type { Database } from "../db/database.ts";
import { selectLastSeq } from "../events/event-log.sql.ts";
import { type EventLog, type EventWriter, LostRunError } from "../events/event-log.ts";
import type { Hub } from "../events/hub.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { Graph } from "../graphs/graph.ts";
import type { Graphs } from "../graphs/registry.ts";
import { takeThread } from "../threads/threads.sql.ts";
import { toInvocation } from "./invocation.ts";
import {
  type CancelAction,
  type ClaimedRun,
  deleteRunWithCheckpoints,
  type FinishedRun,
  finishRun,
  type RunError,
  releaseRun,
  settleThread,
} from "./runs.sql.ts";
import { isWanted, toFrame } from "./stream-frames.ts";

/** Why a run is stopped from outside: the reason of its abort signal. */
export class StopRun extends Error {
  readonly kind: CancelAction | "lost" | "shutdown";

  constructor(kind: CancelAction | "lost" | "shutdown") {
    super(`The run was stopped: ${kind}.`);
    this.name = "StopRun";
    this.kind = kind;
  }
}

export interface ExecuteDeps {
  readonly db: Database;
  readonly graphs: Graphs;
  readonly checkpointer: Checkpointer;
  readonly events: EventLog;
  readonly hub: Hub;
  readonly log: Logger;
}

/** Seconds that the thread of a stateless run stays readable after its end. */
const TEMPORARY_KEEP_SECONDS = 600;

type Outcome = Pick<FinishedRun, "status" | "error" | "threadStatus" | "interrupts">;

/** Returns when the run has ended, was given back, or was lost to another worker. Never throws. */
export async function executeRun(deps: ExecuteDeps, run: ClaimedRun, signal: AbortSignal): Promise<void> {
  const log = deps.log.child({ run_id: run.run_id, thread_id: run.thread_id });
  try {
    const nextSeq = run.attempt > 1 ? (await selectLastSeq(deps.db, run.run_id)) + 1 : 0;
    const writer = deps.events.open(run.run_id, run.fencing_token, nextSeq);
    writer.append("metadata", toWireJson({ run_id: run.run_id, attempt: run.attempt }));
    const outcome = await runGraph(deps, run, writer, signal);
    await finish(deps, run, writer, outcome);
    log.info({ status: outcome.status, attempt: run.attempt }, "run finished");
  } catch (error) {
    // Whatever fails in here: the lease runs out, and another attempt is made.
    await stop(deps, run, error).catch((failure: unknown) => log.error(failure, "run could not be finished"));
  } finally {
    deps.hub.wake(run.run_id);
  }
}

/** What is left to do when a run ended otherwise than by its graph. @throws the error it does not know */
async function stop({ db, log }: ExecuteDeps, run: ClaimedRun, error: unknown): Promise<void> {
  const { run_id, thread_id, fencing_token: token } = run;
  if (isLost(error)) {
    log.warn({ run_id }, "run lost to another worker");
  } else if (error instanceof StopRun && error.kind === "shutdown") {
    await releaseRun(db, run_id, token);
    log.info({ run_id }, "run given back to the queue");
  } else if (error instanceof StopRun && error.kind === "rollback") {
    await db.transaction(async (tx) => {
      // First the token: a checkpoint that the stopped graph is still writing must not come after the deletion.
      await takeThread(tx, thread_id);
      await deleteRunWithCheckpoints(tx, { threadId: thread_id, runId: run_id, token });
      await settleThread(tx, thread_id);
    });
    log.info({ run_id }, "run rolled back");
  } else throw error;
}

/** Runs the graph; its own failure is an outcome. @throws StopRun, FencedError, LostRunError */
async function runGraph(
  { graphs, checkpointer, log }: ExecuteDeps,
  run: ClaimedRun,
  writer: EventWriter,
  signal: AbortSignal,
): Promise<Outcome> {
  const { kwargs } = run;
  try {
    const graph = await graphs.get(String(run.metadata.graph_id), kwargs.config, {
      accessContext: "threads.create_run",
      executionRuntime: { context: kwargs.context },
    });
    const { input, options } = await toInvocation(run, checkpointer);
    let interrupted = false;
    for await (const chunk of await graph.stream(input, { ...options, signal })) {
      const frame = toFrame(chunk);
      if (frame.namespace.length === 0 && isInterrupt(frame.data)) interrupted = true;
      if (isWanted(frame, kwargs.stream_mode)) writer.append(frame.event, toWireJson(frame.data));
      await writer.ready();
    }
    signal.throwIfAborted();
    return {
      status: "success",
      error: null,
      threadStatus: interrupted ? "interrupted" : "idle",
      interrupts: interrupted ? await readInterrupts(graph, run.thread_id) : {},
    };
  } catch (error) {
    if (signal.aborted && signal.reason instanceof StopRun) {
      if (signal.reason.kind !== "interrupt") throw signal.reason;
      return { status: "interrupted", error: null, threadStatus: "idle", interrupts: {} };
    }
    if (isLost(error)) throw error;
    const shown = toRunError(error);
    log.warn({ err: error, run_id: run.run_id }, "run failed");
    writer.append("error", toWireJson(shown));
    return { status: "error", error: shown, threadStatus: "error", interrupts: {} };
  }
}

async function finish(
  { db }: ExecuteDeps,
  run: ClaimedRun,
  writer: EventWriter,
  outcome: Outcome,
): Promise<void> {
  const events = await writer.close();
  const done = await finishRun(db, {
    ...outcome,
    runId: run.run_id,
    token: run.fencing_token,
    keepSeconds: run.kwargs.temporary ? TEMPORARY_KEEP_SECONDS : null,
    events,
  });
  if (!done) throw new LostRunError(run.run_id);
  writer.ended(events);
}

const isLost = (error: unknown) =>
  error instanceof FencedError ||
  error instanceof LostRunError ||
  (error instanceof StopRun && error.kind === "lost");

const isInterrupt = (data: unknown) => typeof data === "object" && data !== null && "__interrupt__" in data;

async function readInterrupts(graph: Graph, threadId: string): Promise<Record<string, unknown>> {
  const { tasks } = await graph.getState({ configurable: { thread_id: threadId } });
  return Object.fromEntries(tasks.map((task) => [task.id, task.interrupts]));
}

function toRunError(error: unknown): RunError {
  if (!(error instanceof Error)) return { error: "Error", message: String(error) };
  return { error: error.name, message: error.message };
}
