// The part of LangGraph's compiled graph (Pregel) that a server uses.

import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";

export interface Graph {
  checkpointer?: BaseCheckpointSaver | boolean;
  /** Names of the channels that make up the state. */
  readonly streamChannelsList: readonly PropertyKey[];
  withConfig(config: RunnableConfig): Graph;
  stream(input: unknown, options: Record<string, unknown>): Promise<AsyncIterable<unknown>>;
  getState(config: RunnableConfig, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
  getStateHistory(
    config: RunnableConfig,
    options?: { limit?: number; before?: RunnableConfig; filter?: Record<string, unknown> },
  ): AsyncIterable<StateSnapshot>;
  updateState(config: RunnableConfig, values: unknown, asNode?: string): Promise<RunnableConfig>;
}

/** Whether `value` is a compiled graph of any copy of LangGraph (its `lg_is_pregel` mark). */
export function isGraph(value: unknown): value is Graph {
  return isObject(value) && value.lg_is_pregel === true;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
