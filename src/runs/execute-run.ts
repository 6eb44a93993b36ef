// Runs one claimed run to its end: graph, events, terminal status. Knows nothing of queues; the worker gives it a run
// and a signal, whose reason says why it must stop.
import type { Logger } from "pino";
import { type Checkpointer, FencedError } from "../db/checkpointer.ts";
import type { Database, Queryable } from "../db/database.ts";
import { isAppError } from "../errors.ts";
import { selectLastSeq } from "../events/event-log.sql.ts";
import { type EventLog, type EventWriter, LostRunError } from "../events/event-log.ts";
import type { Hub } from "../events/hub.ts";
import { type StateFrames, watchStates } from "../events/state-frames.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { Graph } from "../graphs/graph.ts";
import type { OpenStore } from "../graphs/open-store.ts";
import type { Graphs } from "../graphs/registry.ts";
import type { Topologies } from "../graphs/topology.ts";
import { dropUnreadableWrites } from "../threads/pending-writes.ts";
import { takeThread } from "../threads/threads.sql.ts";
import { type Chunk, toChunk } from "./graph-chunks.ts";
import { type OfferServices, streamGraph, toInvocation } from "./invocation.ts";
import type { OpenCalls, RunCalls } from "./open-calls.ts";
import { UnknownInterruptError } from "./resume.ts";
import { deleteRunWithCheckpoints } from "./roll-back.sql.ts";
import {
  type CancelAction,
  type ClaimedRun,
  type FinishedRun,
  finishRun,
  type RunError,
  releaseRun,
} from "./runs.sql.ts";
import type { OpenSaves, Saves } from "./saves.ts";
import { settleThread } from "./stop-runs.sql.ts";
import { createRenderer } from "./stream-frames.ts";
import type { OpenTransform, Transform } from "./transform.ts";

type StopKind = CancelAction | "lost" | "late" | "shutdown";

/** Why a run is stopped from outside: the reason of its abort signal. */
export class StopRun extends Error {
  readonly kind: StopKind;

  constructor(kind: StopKind) {
    super(`The run was stopped: ${kind}.`);
    this.name = "StopRun";
    this.kind = kind;
  }
}

export interface ExecuteDeps {
  readonly db: Database;
  /** Waits for a database that is away. */
  readonly patient: Queryable;
  readonly graphs: Graphs;
  readonly checkpointer: Checkpointer;
  readonly events: EventLog;
  readonly hub: Hub;
  readonly openStore: OpenStore;
  readonly openTransform: OpenTransform;
  readonly calls: OpenCalls;
  readonly offer: OfferServices;
  readonly openSaves: OpenSaves;
  readonly topologies: Topologies;
  readonly log: Logger;
}

/** Seconds that the thread of a stateless run stays readable after its end. */
const TEMPORARY_KEEP_SECONDS = 600;

/** How often a run is tried again because the database broke off; then that is its error. */
const MAX_ATTEMPTS = 10;

type Outcome = Pick<FinishedRun, "status" | "error" | "threadStatus" | "interrupts">;

/** How a run has left this worker. `failed`: it could not be ended, and its lease runs out. */
export type RunEnd = FinishedRun["status"] | "rolled_back" | "lost" | "released" | "failed";

/** Returns when the run has ended, was given back, or was lost to another worker. Never throws. */
export async function executeRun(deps: ExecuteDeps, run: ClaimedRun, signal: AbortSignal): Promise<RunEnd> {
  const calls = deps.calls.watch(run);
  const end = await attempt(deps, run, calls, signal);
  calls.end(end);
  return end;
}

async function attempt(
  deps: ExecuteDeps,
  run: ClaimedRun,
  calls: RunCalls,
  signal: AbortSignal,
): Promise<RunEnd> {
  const log = deps.log.child({ run_id: run.run_id, thread_id: run.thread_id });
  try {
    const nextSeq = run.attempt > 1 ? (await selectLastSeq(deps.patient, run.run_id)) + 1 : 0;
    const writer = deps.events.open(run.run_id, run.fencing_token, nextSeq);
    writer.append("metadata", toWireJson({ run_id: run.run_id, attempt: run.attempt }));
    const outcome = await runGraph(deps, run, { writer, calls, signal });
    await finish(deps, run, writer, outcome);
    log.info({ status: outcome.status, attempt: run.attempt }, "run finished");
    return outcome.status;
  } catch (error) {
    // Whatever fails in here: the lease runs out, and another attempt is made.
    return await stop(deps, run, error).catch((failure: unknown) => {
      log.error(failure, "run could not be finished");
      return "failed" as const;
    });
  } finally {
    deps.hub.wake(run.run_id);
  }
}

/** What is left to do when a run ended otherwise than by its graph. @throws the error it does not know */
async function stop({ db, patient, log }: ExecuteDeps, run: ClaimedRun, error: unknown): Promise<RunEnd> {
  const { run_id, thread_id, fencing_token: token } = run;
  if (isLost(error)) {
    log.warn({ run_id }, "run lost to another worker");
    return "lost";
  }
  if (error instanceof StopRun && (error.kind === "shutdown" || error.kind === "late")) {
    // Late: perhaps nobody has taken it yet, because the database was away for all. Then it has ended no worker.
    await releaseRun(patient, run);
    log.info({ run_id }, "run given back to the queue");
    return "released";
  }
  if (error instanceof StopRun && error.kind === "rollback") {
    await db.transaction(async (tx) => {
      // First the token: a checkpoint that the stopped graph is still writing must not come after the deletion.
      await takeThread(tx, thread_id);
      await deleteRunWithCheckpoints(tx, { threadId: thread_id, runId: run_id, token });
      await settleThread(tx, thread_id);
    });
    log.info({ run_id }, "run rolled back");
    return "rolled_back";
  }
  if (!isOutage(error, run)) throw error;
  await releaseRun(patient, run);
  log.warn({ run_id, err: error }, "run given back to the queue");
  return "released";
}

/** Runs the graph; its own failure is an outcome. @throws StopRun, FencedError, LostRunError, database_unavailable */
async function runGraph(
  { db, graphs, checkpointer, openStore, openTransform, openSaves, topologies, offer, log }: ExecuteDeps,
  run: ClaimedRun,
  { writer, calls, signal }: { writer: EventWriter; calls: RunCalls; signal: AbortSignal },
): Promise<Outcome> {
  const { kwargs } = run;
  let graph: Graph | undefined;
  let transform: Transform | undefined;
  let saves: Saves | undefined;
  const states = kwargs.stream_mode.includes("values")
    ? watchStates(checkpointer, {
        threadId: run.thread_id,
        token: run.fencing_token,
        subgraphs: kwargs.stream_subgraphs,
      })
    : undefined;
  try {
    signal.throwIfAborted();
    graph = await graphs.get(String(run.metadata.graph_id), kwargs.config, {
      accessContext: "threads.create_run",
      executionRuntime: { context: kwargs.context },
    });
    const { version: graphVersion } = await topologies.of(graph);
    const { input, options } = await toInvocation(run, graph, checkpointer, { offer, graphVersion });
    saves = openSaves(run);
    const store = openStore({
      identity: kwargs.config.configurable?.langgraph_auth_user_id,
      fence: { threadId: run.thread_id, token: run.fencing_token },
    });
    let interrupted = false;
    const render = createRenderer(kwargs.stream_mode);
    if (kwargs.transform) {
      const place = { runId: run.run_id, graphName: String(run.metadata.graph_id) };
      transform = openTransform(graph, place, (namespace, data) =>
        writer.append(["custom", ...namespace].join("|"), toWireJson(data)),
      );
    }
    for await (const part of await streamGraph(
      graph,
      input,
      { ...options, store, signal },
      kwargs.stream_mode,
    )) {
      const chunk = toChunk(part);
      calls.read(chunk);
      if (chunk.namespace.length === 0 && isInterrupt(chunk)) interrupted = true;
      for (const { event, data } of render(chunk)) {
        const rendered = data === chunk.data ? await renderState(states, chunk) : undefined;
        const json = rendered?.data ?? toWireJson(data);
        writer.append(event, json, rendered?.pointer);
        transform?.push(chunk, { event, data: json });
      }
      await writer.ready();
      await saves?.ready();
    }
    signal.throwIfAborted();
    await transform?.end();
    if (interrupted) await saves?.interrupted();
    return {
      status: "success",
      error: null,
      threadStatus: interrupted ? "interrupted" : "idle",
      interrupts: interrupted ? await readInterrupts(graph, run.thread_id) : {},
    };
  } catch (error) {
    transform?.fail(error);
    if (signal.aborted && signal.reason instanceof StopRun) {
      if (signal.reason.kind !== "interrupt") throw signal.reason;
      return { status: "interrupted", error: null, threadStatus: "idle", interrupts: {} };
    }
    if (isLost(error) || isOutage(error, run)) throw error;
    if (error instanceof UnknownInterruptError) {
      const { pending } = error;
      writer.append("error", toWireJson(error.toRunError()));
      const threadStatus = Object.keys(pending).length > 0 ? "interrupted" : "idle";
      return { status: "error", error: error.toRunError(), threadStatus, interrupts: pending };
    }
    const shown = toRunError(error);
    logFailure(log, run, error, shown);
    if (graph) await dropUnreadableWrites({ db, graph, token: run.fencing_token }, toPlace(run));
    writer.append("error", toWireJson(shown));
    return { status: "error", error: shown, threadStatus: "error", interrupts: {} };
  } finally {
    states?.close();
    await checkpointer.settle(run.thread_id, run.fencing_token);
    await saves?.close();
  }
}

async function finish(
  { patient }: ExecuteDeps,
  run: ClaimedRun,
  writer: EventWriter,
  outcome: Outcome,
): Promise<void> {
  const events = await writer.close();
  const result = await finishRun(patient, {
    ...outcome,
    runId: run.run_id,
    token: run.fencing_token,
    keepSeconds: run.kwargs.temporary ? TEMPORARY_KEEP_SECONDS : null,
    events,
  });
  if (result === "rollback") throw new StopRun("rollback");
  if (result === "lost") throw new LostRunError(run.run_id);
  writer.ended(events);
}

/** Where a failed run may have left writes: a command's lie beside the checkpoint that it started from. */
const toPlace = ({ thread_id, kwargs }: ClaimedRun) => ({
  configurable: { ...(kwargs.command ? kwargs.checkpoint : {}), thread_id },
});

const isLost = (error: unknown) =>
  error instanceof FencedError ||
  error instanceof LostRunError ||
  (error instanceof StopRun && error.kind === "lost");

/** The database is away for a moment: not the graph's failure, and another attempt may go on where this one is. */
const isOutage = (error: unknown, run: ClaimedRun) =>
  isAppError(error, "database_unavailable") && run.attempt < MAX_ATTEMPTS;

const isInterrupt = ({ mode, data }: Chunk) =>
  mode === "values" && typeof data === "object" && data !== null && "__interrupt__" in data;

/** What holds the thread's state, which the log does not repeat: states, and the inputs of tasks. */
async function renderState(states: StateFrames | undefined, { mode, namespace, data }: Chunk) {
  if (mode === "values") return states?.render(namespace, data);
  const isTask = mode === "tasks" && typeof data === "object" && data !== null && "input" in data;
  return isTask ? states?.renderWithin(namespace, data, "input") : undefined;
}

async function readInterrupts(graph: Graph, threadId: string): Promise<Record<string, unknown>> {
  const { tasks } = await graph.getState({ configurable: { thread_id: threadId } });
  return Object.fromEntries(tasks.map((task) => [task.id, task.interrupts]));
}

function logFailure(log: Logger, { run_id }: ClaimedRun, error: unknown, shown: RunError): void {
  try {
    log.warn({ err: error, run_id }, "run failed");
  } catch {
    // The log reads all of an error, and something in this one throws.
    log.warn({ err: shown, run_id }, "run failed");
  }
}

/** A graph may throw anything, also a text that PostgreSQL cannot store. */
function toRunError(error: unknown): RunError {
  const clean = (text: string) => text.replaceAll("\0", "\ufffd").toWellFormed();
  if (error instanceof Error) return { error: clean(error.name), message: clean(error.message) };
  return { error: "Error", message: clean(typeof error === "string" ? error : toWireJson(error)) };
}
