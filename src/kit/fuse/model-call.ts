// wrapModelCall of a list of middlewares as one wrap: the first of the list is outermost. Does per layer what
// createAgent does per middleware: its own view of state and context, one way to change the system message, and
// Commands taken out of the way so that an outer layer always gets a message.
import { randomUUID } from "node:crypto";
import { AIMessage, RemoveMessage } from "@langchain/core/messages";
import { Command, isCommand } from "@langchain/langgraph";
import type { AgentMiddleware, ModelRequest } from "langchain";
import { named } from "./failure.ts";
import { createPendingUpdate } from "./pending-update.ts";
import { modelCallContext, modelCallState, type Reducer, type Values } from "./schemas.ts";

type Handler = (request: ModelRequest) => Promise<unknown>;
type Wrap = (request: ModelRequest, handler: Handler) => unknown;

/** What one model call has led to so far. */
interface Progress {
  /** The reply as the layers so far have left it. */
  reply?: AIMessage;
  /** The reply that createAgent itself has seen last, and will write next to any Command. */
  seen?: AIMessage;
  readonly commands: Command[];
  /** Errors that have a name already, or need none. */
  readonly foreign: WeakSet<object>;
}

/** Undefined when no middleware of the list wraps model calls. */
export function fuseModelCalls(
  list: readonly AgentMiddleware[],
  reducers: Readonly<Record<string, Reducer>>,
  agentName: string,
): Wrap | undefined {
  const wrapping = list.filter(({ wrapModelCall }) => wrapModelCall);
  if (wrapping.length === 0) return undefined;
  return async (request, handler) => {
    const progress: Progress = { commands: [], foreign: new WeakSet() };
    const layers = wrapping.reduceRight(
      (inner, middleware) => layer(middleware, inner, request, progress),
      innermost(handler, request, progress),
    );
    const response = await layers(request);
    // A structured response ends the agent; createAgent drops Commands beside it too.
    if (progress.commands.length === 0 || !(isReply(response) || isCommand(response))) return response;
    return combine(progress, request.state as Values, reducers, agentName);
  };
}

function innermost(handler: Handler, original: ModelRequest, progress: Progress): Handler {
  return async (request) => {
    try {
      // createAgent refuses a request in which both forms of the system message differ from its own.
      const response = await handler({ ...request, systemPrompt: original.systemPrompt });
      if (isReply(response)) {
        progress.reply = response;
        progress.seen = response;
      }
      return response;
    } catch (error) {
      if (typeof error === "object" && error !== null) progress.foreign.add(error);
      throw error;
    }
  };
}

function layer(
  middleware: AgentMiddleware,
  inner: Handler,
  original: ModelRequest,
  progress: Progress,
): Handler {
  const { name } = middleware;
  const wrap = middleware.wrapModelCall as Wrap;
  return async (request) => {
    const response = await named(
      name,
      () => {
        const own = {
          ...request,
          state: modelCallState(middleware, original.state as Values) as ModelRequest["state"],
          runtime: Object.freeze({
            ...original.runtime,
            context: modelCallContext(middleware, original.runtime.context),
          }),
        };
        return wrap(own, async (passed) => {
          const response = await inner(withOneSystemMessage(passed, request));
          return isCommand(response) ? (progress.reply ?? response) : response;
        });
      },
      progress.foreign,
    );
    if (isReply(response)) progress.reply = response;
    else if (isCommand(response)) progress.commands.push(response);
    else if (!isStructured(response)) {
      throw new Error(
        `wrapModelCall of middleware "${name}" must return an AIMessage or a Command, not ${typeof response}.`,
      );
    }
    return response;
  };
}

/** A layer may change `systemPrompt` or `systemMessage`; the next one gets both in agreement. */
function withOneSystemMessage(passed: ModelRequest, before: ModelRequest): ModelRequest {
  const promptChanged = passed.systemPrompt !== before.systemPrompt;
  const messageChanged = passed.systemMessage !== before.systemMessage;
  if (promptChanged && messageChanged) {
    throw new Error("Cannot change both systemPrompt and systemMessage in the same request.");
  }
  if (promptChanged) {
    const text = passed.systemPrompt ?? "";
    return { ...passed, systemMessage: new (before.systemMessage.constructor as SystemMessageClass)(text) };
  }
  return messageChanged ? { ...passed, systemPrompt: passed.systemMessage.text } : passed;
}

type SystemMessageClass = new (text: string) => ModelRequest["systemMessage"];

/** All Commands as one, with the reply in it where a layer has changed what createAgent will write. */
function combine(
  { commands, reply, seen }: Progress,
  state: Values,
  reducers: Readonly<Record<string, Reducer>>,
  agentName: string,
): Command {
  const written = seen ? [seen] : [];
  const pending = createPendingUpdate(
    { ...state, messages: [...(state.messages as AIMessage[]), ...written] },
    reducers,
  );
  if (seen) seen.id ??= randomUUID();
  if (reply && reply !== seen) {
    const outdated = seen && seen.id !== reply.id ? [new RemoveMessage({ id: seen.id ?? "" })] : [];
    // createAgent puts the agent's name only on the message that it writes itself.
    reply.name = agentName;
    reply.lc_kwargs.name = agentName;
    pending.add({ messages: [...outdated, reply] });
  }
  for (const command of commands) pending.add(Object.fromEntries(command._updateAsTuples()));
  const goto = commands.flatMap((command) => command.goto ?? []);
  return new Command({ update: pending.toUpdate() ?? {}, goto });
}

function isReply(response: unknown): response is AIMessage {
  return AIMessage.isInstance(response);
}

function isStructured(response: unknown): boolean {
  return typeof response === "object" && response !== null && "structuredResponse" in response;
}
