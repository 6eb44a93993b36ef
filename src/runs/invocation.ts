// From a stored run to the arguments of `graph.stream`.
import type { RunnableConfig } from "@langchain/core/runnables";
import { type Checkpointer, FENCE_KEY, GRAPH_VERSION_KEY } from "../db/checkpointer.ts";
import { toCommand } from "../graphs/command.ts";
import type { Graph } from "../graphs/graph.ts";
import { toLanggraphModes } from "./graph-chunks.ts";
import { withAnswer } from "./resume.ts";
import type { StreamMode } from "./run-kwargs.ts";
import type { ClaimedRun } from "./runs.sql.ts";

export interface Invocation {
  readonly input: unknown;
  readonly options: RunnableConfig & Record<string, unknown>;
}

/** What of the server a run's graph finds in its `configurable`, under `__` keys. */
export type OfferServices = (run: ClaimedRun) => Readonly<Record<`__${string}`, unknown>>;

/**
 * A second attempt whose predecessor got as far as a checkpoint goes on from there: no input, no fork. Otherwise it
 * starts like the first.
 * @throws UnknownInterruptError
 */
export async function toInvocation(
  run: ClaimedRun,
  graph: Graph,
  checkpointer: Checkpointer,
  { offer, graphVersion }: { offer: OfferServices; graphVersion: string },
): Promise<Invocation> {
  const { kwargs, thread_id, run_id } = run;
  const started = run.attempt > 1 && (await hasCheckpoint(checkpointer, thread_id, run_id));
  const { configurable = {}, metadata, recursion_limit, tags } = kwargs.config;
  const shown = Object.fromEntries(
    Object.entries(configurable).filter(([, value]) => typeof value !== "object"),
  );
  return {
    input: started ? null : await toInput(graph, run),
    options: {
      configurable: {
        ...configurable,
        ...(started ? {} : kwargs.checkpoint),
        thread_id,
        [FENCE_KEY]: run.fencing_token,
        [GRAPH_VERSION_KEY]: graphVersion,
        ...offer(run),
      },
      // The saver keeps these with every checkpoint; by `run_id` LangGraph knows a run that goes on.
      metadata: {
        ...shown,
        ...metadata,
        ...run.metadata,
        run_id,
        thread_id,
        run_attempt: run.attempt,
      },
      runId: run_id,
      streamMode: toLanggraphModes(kwargs.stream_mode),
      subgraphs: kwargs.stream_subgraphs,
      // What makes LangGraph say, before each state of a graph with subgraphs, which checkpoint it is.
      ...(kwargs.stream_subgraphs && kwargs.stream_mode.includes("values") ? { version: "v2" } : {}),
      // Before the next step starts, the last one is in the database.
      durability: "sync",
      ...(tags === undefined ? {} : { tags: [...tags] }),
      ...(recursion_limit === undefined ? {} : { recursionLimit: recursion_limit }),
      ...(kwargs.context === undefined ? {} : { context: kwargs.context }),
      ...(kwargs.interrupt_before === undefined ? {} : { interruptBefore: kwargs.interrupt_before }),
      ...(kwargs.interrupt_after === undefined ? {} : { interruptAfter: kwargs.interrupt_after }),
    },
  };
}

async function toInput(graph: Graph, run: ClaimedRun): Promise<unknown> {
  const { command, input } = run.kwargs;
  return command ? toCommand(await withAnswer(graph, command, run)) : input;
}

/** Runs the graph. Only a client that wants `events` pays for them: LangGraph then reports every runnable's. */
export const streamGraph = (
  graph: Graph,
  input: unknown,
  options: Invocation["options"],
  modes: readonly StreamMode[],
): AsyncIterable<unknown> | Promise<AsyncIterable<unknown>> =>
  modes.includes("events") ? streamWithEvents(graph, input, options) : graph.stream(input, options);

/** The chunks of `graph.stream`, and between them, as chunks of the mode `events`, what else happens. */
async function* streamWithEvents(
  graph: Graph,
  input: unknown,
  options: Invocation["options"],
): AsyncGenerator<unknown> {
  for await (const event of graph.streamEvents(input, { ...options, version: "v2" })) {
    if (event.event === "on_chain_stream" && event.run_id === options.runId) yield event.data.chunk;
    else if (!event.tags?.includes("langsmith:hidden")) yield [[], "events", event];
  }
}

async function hasCheckpoint(checkpointer: Checkpointer, threadId: string, runId: string): Promise<boolean> {
  const latest = await checkpointer.getTuple({ configurable: { thread_id: threadId } });
  const metadata: object = latest?.metadata ?? {};
  return "run_id" in metadata && metadata.run_id === runId;
}
