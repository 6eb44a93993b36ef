// wrapToolCall of a list of middlewares as one wrap: the first of the list is outermost, each with its own view
// of the state.
import { ToolMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import type { AgentMiddleware, ToolCallRequest } from "langchain";
import { named } from "./failure.ts";
import { toolCallState, type Values } from "./schemas.ts";

type Handler = (request: ToolCallRequest) => Promise<unknown>;
type Wrap = (request: ToolCallRequest, handler: Handler) => unknown;

/** Undefined when no middleware of the list wraps tool calls. */
export function fuseToolCalls(list: readonly AgentMiddleware[]): Wrap | undefined {
  const wrapping = list.filter(({ wrapToolCall }) => wrapToolCall);
  if (wrapping.length === 0) return undefined;
  return (request, handler) => {
    const foreign = new WeakSet<object>();
    const layers = wrapping.reduceRight<Handler>(
      (inner, middleware) => layer(middleware, inner, foreign),
      innermost(handler, foreign),
    );
    return layers(request);
  };
}

/** The tool's own errors are not a middleware's: createAgent tells them apart by their identity. */
function innermost(handler: Handler, foreign: WeakSet<object>): Handler {
  return async (request) => {
    try {
      return await handler(request);
    } catch (error) {
      if (typeof error === "object" && error !== null) foreign.add(error);
      throw error;
    }
  };
}

function layer(middleware: AgentMiddleware, inner: Handler, foreign: WeakSet<object>): Handler {
  const wrap = middleware.wrapToolCall as Wrap;
  return async (request) => {
    const whole = request.state as Values;
    const result = await named(
      middleware.name,
      () =>
        wrap({ ...request, state: toolCallState(middleware, whole) as ToolCallRequest["state"] }, (passed) =>
          inner({ ...passed, state: { ...whole, ...passed.state } as ToolCallRequest["state"] }),
        ),
      foreign,
    );
    if (ToolMessage.isInstance(result) || isCommand(result)) return result;
    throw new Error(
      `wrapToolCall of middleware "${middleware.name}" must return a ToolMessage or a Command, not ${typeof result}.`,
    );
  };
}
