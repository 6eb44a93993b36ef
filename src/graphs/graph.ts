// The part of LangGraph's compiled graph (Pregel) that a server uses.

import type { RunnableConfig } from "@langchain/core/runnables";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import type { StateSnapshot, StreamTransformer } from "@langchain/langgraph";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph-checkpoint";

/** Updates of the state that count as one step. */
export interface Superstep {
  readonly updates: readonly { readonly values: unknown; readonly asNode?: string | undefined }[];
}

export interface Graph {
  checkpointer?: BaseCheckpointSaver | boolean;
  store?: BaseStore;
  /** Names of the channels that make up the state. */
  readonly streamChannelsList: readonly PropertyKey[];
  /** What `compile({ transformers })` was given, and LangChain's own. */
  readonly streamTransformers?: readonly (() => StreamTransformer)[];
  withConfig(config: RunnableConfig): Graph;
  stream(input: unknown, options: Record<string, unknown>): Promise<AsyncIterable<unknown>>;
  streamEvents(input: unknown, options: Record<string, unknown>): AsyncIterable<StreamEvent>;
  getState(config: RunnableConfig, options?: { subgraphs?: boolean }): Promise<StateSnapshot>;
  getStateHistory(
    config: RunnableConfig,
    options?: { limit?: number; before?: RunnableConfig; filter?: Record<string, unknown> },
  ): AsyncIterable<StateSnapshot>;
  bulkUpdateState(config: RunnableConfig, supersteps: readonly Superstep[]): Promise<RunnableConfig>;
  /** `xray`: how deep subgraphs are drawn; true: all of them. */
  getGraphAsync(config: RunnableConfig & { xray?: boolean | number }): Promise<{ toJSON(): object }>;
  /**
   * Those of all nodes by the node's name, as far as `namespace` leads; with `recurse` theirs as well, names joined
   * by "|".
   */
  getSubgraphsAsync(namespace?: string, recurse?: boolean): AsyncIterable<readonly [string, Graph]>;
}

/** Whether `value` is a compiled graph of any copy of LangGraph (its `lg_is_pregel` mark). */
export function isGraph(value: unknown): value is Graph {
  return isObject(value) && value.lg_is_pregel === true;
}

export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
