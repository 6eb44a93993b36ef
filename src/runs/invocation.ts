// From a stored run to the arguments of `graph.stream`.
import type { RunnableConfig } from "@langchain/core/runnables";
import { Command, Send } from "@langchain/langgraph";
import { type Checkpointer, FENCE_KEY } from "../db/checkpointer.ts";
import type { RunCommand } from "./run-kwargs.ts";
import type { ClaimedRun } from "./runs.sql.ts";
import { toLanggraphModes } from "./stream-frames.ts";

export interface Invocation {
  readonly input: unknown;
  readonly options: RunnableConfig & Record<string, unknown>;
}

/**
 * A second attempt whose predecessor got as far as a checkpoint goes on from there: no input, no fork. Otherwise it
 * starts like the first.
 */
export async function toInvocation(run: ClaimedRun, checkpointer: Checkpointer): Promise<Invocation> {
  const { kwargs, thread_id, run_id } = run;
  const started = run.attempt > 1 && (await hasCheckpoint(checkpointer, thread_id, run_id));
  const { configurable = {}, recursion_limit, tags } = kwargs.config;
  const shown = Object.fromEntries(
    Object.entries(configurable).filter(([, value]) => typeof value !== "object"),
  );
  return {
    input: started ? null : kwargs.command ? toCommand(kwargs.command) : kwargs.input,
    options: {
      configurable: {
        ...configurable,
        ...(started ? {} : kwargs.checkpoint),
        thread_id,
        [FENCE_KEY]: run.fencing_token,
      },
      // The saver keeps these with every checkpoint; by `run_id` LangGraph knows a run that goes on.
      metadata: { ...shown, ...run.metadata, run_id, thread_id, run_attempt: run.attempt },
      runId: run_id,
      streamMode: toLanggraphModes(kwargs.stream_mode),
      subgraphs: kwargs.stream_subgraphs,
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

async function hasCheckpoint(checkpointer: Checkpointer, threadId: string, runId: string): Promise<boolean> {
  const latest = await checkpointer.getTuple({ configurable: { thread_id: threadId } });
  const metadata: object = latest?.metadata ?? {};
  return "run_id" in metadata && metadata.run_id === runId;
}

function toCommand({ goto, update, resume }: RunCommand): Command {
  const targets = goto === undefined || goto === null ? [] : Array.isArray(goto) ? goto : [goto];
  return new Command({
    ...(targets.length === 0 ? {} : { goto: targets.map(toTarget) }),
    ...(update === undefined || update === null ? {} : { update: update as Record<string, unknown> }),
    ...(resume === undefined ? {} : { resume }),
  });
}

const toTarget = (target: unknown): string | Send =>
  typeof target === "object" && target !== null && "node" in target && typeof target.node === "string"
    ? new Send(target.node, "input" in target ? target.input : {})
    : String(target);
