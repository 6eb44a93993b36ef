// An agent of one or a few middlewares on a scripted model, with a thread that lasts over several turns.
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { type Command, MemorySaver } from "@langchain/langgraph";
import { type AgentMiddleware, createAgent } from "langchain";
import { ThreadState } from "#kit";
import { ScriptedModel } from "./scripted-model.ts";

interface TestAgentOptions {
  readonly middleware: readonly AgentMiddleware[];
  readonly script: ConstructorParameters<typeof ScriptedModel>[0] | ScriptedModel;
  readonly tools?: readonly StructuredToolInterface[];
  readonly systemPrompt?: string;
}

interface TurnOptions {
  readonly configurable?: Record<string, unknown>;
  readonly context?: Record<string, unknown>;
  readonly signal?: AbortSignal;
}

type Input = string | readonly BaseMessage[] | Record<string, unknown> | Command | null;

export function createTestAgent({ middleware, script, tools = [], systemPrompt }: TestAgentOptions) {
  const model = script instanceof ScriptedModel ? script : new ScriptedModel(script);
  const { graph } = createAgent({
    model,
    tools: [...tools],
    systemPrompt,
    middleware,
    stateSchema: ThreadState.schema,
    checkpointer: new MemorySaver(),
  });
  const withThread = ({ configurable, ...rest }: TurnOptions) => ({
    ...rest,
    configurable: { thread_id: THREAD, ...configurable },
  });
  return {
    model,
    graph,
    /** One run on the thread; a string or messages are the user's. Gives the state after it. */
    turn: async (input: Input, options: TurnOptions = {}): Promise<ThreadState & Record<string, unknown>> => {
      const state = await graph.invoke(toInput(input) as never, withThread(options));
      return state as ThreadState & Record<string, unknown>;
    },
    /** All that a run streams in one of LangGraph's modes. */
    stream: async (input: Input, streamMode: "messages" | "updates" | "values" | "custom", options = {}) => {
      const chunks: unknown[] = [];
      const stream = await graph.stream(toInput(input) as never, { ...withThread(options), streamMode });
      for await (const chunk of stream) chunks.push(chunk);
      return chunks;
    },
    state: async (): Promise<ThreadState & Record<string, unknown>> => {
      const { values } = await graph.getState(withThread({}));
      return values as ThreadState & Record<string, unknown>;
    },
  };
}

/** Thread of every test agent. */
export const THREAD = "7f3c2a1e-0000-4000-8000-000000000001";

function toInput(input: Input): unknown {
  if (typeof input === "string") return { messages: [new HumanMessage(input)] };
  return Array.isArray(input) ? { messages: input } : input;
}
