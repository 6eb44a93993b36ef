// Makes a LangChain tool of a name, a description, a schema and a function, with the run's context in one shape.
// A tool says that it failed by throwing an Error whose message helps the model; it holds no host path.
import { ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import type { z } from "zod";
import { threadIdOf } from "./run-settings.ts";

export interface ToolContext {
  readonly threadId: string;
  /** The graph's state when the call began; never to be changed. */
  readonly state: Readonly<Record<string, unknown>>;
  readonly toolCallId: string;
  /** Aborted when the run is cancelled. What a tool has started must end then. */
  readonly signal: AbortSignal | undefined;
  /** Sends to the run's `custom` stream; undefined where nobody listens. */
  readonly writer: ((chunk: unknown) => void) | undefined;
}

/** What the model reads, and with it what goes into the state (through the keys' merge handlers). */
export interface ToolUpdate {
  readonly content: string;
  readonly update: Readonly<Record<string, unknown>>;
}

export interface ToolDefinition<Schema extends z.ZodObject> {
  readonly name: string;
  /** For the model: what the tool is for, when to use another, its limits. */
  readonly description: string;
  /** Each key with `.describe()`; arguments that do not fit are refused before `run`. */
  readonly schema: Schema;
  run(args: z.output<Schema>, context: ToolContext): Promise<string | ToolUpdate>;
}

export function defineTool<Schema extends z.ZodObject>(definition: ToolDefinition<Schema>) {
  const { name, description, schema, run } = definition;
  const call = async (args: z.output<Schema>, runtime: ToolRuntime): Promise<string | Command> => {
    const context = toContext(runtime);
    const result = await run(args, context);
    if (typeof result === "string") return result;
    const message = new ToolMessage({ content: result.content, tool_call_id: context.toolCallId, name });
    return new Command({ update: { ...result.update, messages: [message] } });
  };
  return tool(call as never, { name, description, schema: schema as z.ZodObject });
}

/** Any tool that `defineTool` has made. */
export type DefinedTool = ReturnType<typeof defineTool>;

function toContext(runtime: ToolRuntime): ToolContext {
  return {
    threadId: threadIdOf(runtime),
    state: isRecord(runtime.state) ? runtime.state : {},
    // Outside of a tool node (a test, a script) the id stands in the call itself.
    toolCallId: runtime.toolCallId ?? runtime.toolCall?.id ?? "",
    signal: runtime.signal,
    writer: runtime.writer ?? undefined,
  };
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
