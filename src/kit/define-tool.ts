// Makes a LangChain tool of a name, a description, a schema and a function, with the run's context in one shape.
// A tool says that it failed by throwing an Error whose message helps the model; it holds no host path.
import { ToolMessage } from "@langchain/core/messages";
import { type ToolRuntime, tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { z } from "zod";
import type { DefinedState, Types } from "./define-state.ts";
import { threadIdOf } from "./run-settings.ts";
import { copyValue } from "./state/copy-value.ts";
import { toToolState } from "./state/tool-state.ts";

export interface ToolContext {
  /** @throws Error when the run belongs to no thread */
  readonly threadId: string;
  /** A copy of the graph's state as it was when the call began. */
  readonly state: Readonly<Record<string, unknown>>;
  readonly toolCallId: string;
  /** Aborted when the run is cancelled. What a tool has started must end then. */
  readonly signal: AbortSignal | undefined;
  /** Sends to the run's `custom` stream; undefined where nobody listens. */
  readonly writer: ((chunk: unknown) => void) | undefined;
}

/** A field of an object; anything for a result that TypeScript does not know to be one. */
type FieldOf<Result> = Result extends object ? Extract<keyof Result, string> : string;

interface OutputToState<Source> {
  /** The field of the result; the whole result when it is left out. A field that is not there writes nothing. */
  readonly source?: Source;
  /** Name of one of the key's `handlers`, to be used for this write instead of the key's own. */
  readonly handler?: string;
}

export interface ToolDefinition<Schema extends z.ZodObject, State extends Types, Result> {
  readonly name: string;
  /** For the model: what the tool is for, when to use another, its limits. */
  readonly description: string;
  /** Each key with `.describe()`; arguments that do not fit are refused before `run`. */
  readonly schema: Schema;
  /** The declaration that the next two are checked against. */
  readonly state?: DefinedState<State>;
  /** State keys and the parameters that they fill. The model is not asked for these, and cannot give them. */
  readonly inputsFromState?: { readonly [Key in keyof State | "messages"]?: keyof Schema["shape"] & string };
  /** State keys and what of the result goes there, through the key's handler. */
  readonly outputsToState?: { readonly [Key in keyof State]?: OutputToState<FieldOf<NoInfer<Result>>> };
  /** Zod schema of the result: then sources and types are checked when the tool is defined, results when it ends. */
  readonly returns?: z.ZodType<Result>;
  /** Gives text or anything that has a JSON. */
  run(args: z.output<Schema>, context: ToolContext): Result | Promise<Result>;
  /** What the model reads of a result; by default text as it is, all else as JSON. Stands after `run`. */
  toContent?(result: NoInfer<Result>): string;
}

/**
 * A tool for `createAgent` and for a `ToolNode` in a StateGraph (document 004, "Tools and State").
 * @throws TypeError when a mapping names a key, parameter, source or handler that there is not, or types that can
 * never fit; the message has the valid ones
 */
export function defineTool<Schema extends z.ZodObject, State extends Types, Result>(
  definition: ToolDefinition<Schema, State, Result>,
) {
  const { name, description, returns, run, toContent = toText } = definition;
  const toolState = toToolState(definition as never);
  const call = async (args: Record<string, unknown>, runtime: ToolRuntime): Promise<string | Command> => {
    const context = toContext(runtime);
    const given = await run(toolState.withInputs(args, stateOf(runtime)) as z.output<Schema>, context);
    const result = returns ? parse(returns, given) : given;
    const update = toolState.toUpdate(result);
    const content = toContent(result);
    if (Object.keys(update).length === 0) return content;
    const message = new ToolMessage({ content, tool_call_id: context.toolCallId, name });
    return new Command({ update: { ...update, messages: [message] } });
  };
  return tool(call as never, { name, description, schema: toolState.modelSchema });
}

/** Any tool that `defineTool` has made. */
export type DefinedTool = ReturnType<typeof defineTool>;

function parse<Result>(returns: z.ZodType<Result>, given: unknown): Result {
  const result = returns.safeParse(given);
  if (result.success) return result.data;
  throw new TypeError(`The tool's result is not what it says it returns: ${z.prettifyError(result.error)}`);
}

function toText(result: unknown): string {
  return typeof result === "string" ? result : (JSON.stringify(result) ?? "");
}

function toContext(runtime: ToolRuntime): ToolContext {
  return {
    get threadId() {
      return threadIdOf(runtime);
    },
    get state() {
      return copyValue(stateOf(runtime));
    },
    // Outside of a tool node (a test, a script) the id stands in the call itself.
    toolCallId: runtime.toolCallId ?? runtime.toolCall?.id ?? "",
    signal: runtime.signal,
    writer: runtime.writer ?? undefined,
  };
}

function stateOf({ state }: ToolRuntime): Record<string, unknown> {
  return typeof state === "object" && state !== null ? (state as Record<string, unknown>) : {};
}
