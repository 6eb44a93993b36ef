// A subagent that thinks once: a graph of two nodes, one that asks the model and one that checks what it said. It reads
// its input and returns data; whoever called it updates (document 002, "Agent Returns Data").
import { END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { defineState } from "#kit";
import type { Ask } from "./ask.ts";

const State = defineState({
  input: { type: z.unknown() },
  /** As the model gave it. */
  draft: { type: z.unknown() },
  /** What of it holds. */
  result: { type: z.unknown() },
});

export interface SubagentDefinition<Input, Schema extends z.ZodType, Result> {
  readonly name: string;
  readonly instructions: string;
  readonly schema: Schema;
  /** The part of the input that the model is shown. */
  toPrompt(input: Input): unknown;
  check(draft: z.output<Schema>, input: Input): Result;
}

export interface Subagent<Input, Result> {
  /** For drawings, and for who lists a graph's subgraphs. */
  readonly graph: ReturnType<typeof compile>;
  /** Input and result are plain data: both lie in checkpoints. */
  run(input: Input, config: LangGraphRunnableConfig): Promise<Result>;
}

export function createSubagent<Input, Schema extends z.ZodType, Result>(
  ask: Ask,
  definition: SubagentDefinition<Input, Schema, Result>,
): Subagent<Input, Result> {
  const graph = compile(ask, definition as never);
  return {
    graph,
    run: async (input, config) => (await graph.invoke({ input }, config)).result as Result,
  };
}

function compile(ask: Ask, definition: SubagentDefinition<unknown, z.ZodType, unknown>) {
  const { name, instructions, schema, toPrompt, check } = definition;
  return new StateGraph(State.annotation)
    .addNode("think", async ({ input }, config: LangGraphRunnableConfig) => ({
      draft: await ask({ step: name, instructions, schema, input: toPrompt(input) }, config),
    }))
    .addNode("check", ({ draft, input }) => ({ result: check(draft, input) }))
    .addEdge(START, "think")
    .addEdge("think", "check")
    .addEdge("check", END)
    .compile({ name });
}
