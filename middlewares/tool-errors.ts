// Makes a tool message of a failing tool, so that the model can react and the run goes on. The message has no
// stack, no path of the host, and a bounded length; so has the result of a tool that says far too much.
import { ToolMessage } from "@langchain/core/messages";
import { Command, isCommand, isGraphBubbleUp } from "@langchain/langgraph";
import { createMiddleware, ToolInvocationError } from "langchain";

interface ToolErrorsOptions {
  /** Characters of an error that the model is told. */
  readonly maxErrorChars?: number;
  /** Characters of any result. Heddle's own tools stop earlier; this is for those of others. */
  readonly maxResultChars?: number;
}

export function createToolErrors({
  maxErrorChars = 1_000,
  maxResultChars = 100_000,
}: ToolErrorsOptions = {}) {
  return createMiddleware({
    name: "tool-errors",
    wrapToolCall: async (request, handler) => {
      const { id = "", name } = request.toolCall;
      try {
        const result = await handler(request);
        return isCommand(result) ? boundedIn(result, maxResultChars) : bounded(result, maxResultChars);
      } catch (error) {
        // An interrupt asks a person, a parent's Command routes, an abort ends the run: none is the tool's failure.
        if (isGraphBubbleUp(error) || request.runtime.signal?.aborted) throw error;
        const content = `The call of ${name} failed: ${cut(describe(error), maxErrorChars)}`;
        return new ToolMessage({ content, tool_call_id: id, name, status: "error" });
      }
    },
  });
}

function describe(error: unknown): string {
  // LangChain's message of this error ends with a stack.
  const cause = ToolInvocationError.isInstance(error) ? error.toolError : error;
  const text = cause instanceof Error ? cause.message || cause.name : String(cause);
  return withoutHostPaths(withoutStack(text)).trim() || "it gave no reason.";
}

function withoutStack(text: string): string {
  return text
    .split("\n")
    .filter((line) => !/^\s+at .+(?::\d+|\))$|^\s+at (?:async )?[\w.<> [\]]+$/.test(line))
    .join("\n");
}

/** Absolute paths that are not the agent's own; the path of a URL is part of the URL and stays. */
function withoutHostPaths(text: string): string {
  return text
    .replace(/\bfile:\/\/[^\s'")]+/g, "[path]")
    .replace(/(?<![\w:/.~@-])\/(?!mnt\/user-data(?:\/|\b))[\w.@+~-]+\/[^\s'"`:,;)<>]*/g, "[path]")
    .replace(/\b[A-Za-z]:\\[^\s'"]+/g, "[path]");
}

/** The message of a tool that also writes state. */
function boundedIn(command: Command, maxChars: number): Command {
  const { graph, goto, resume } = command;
  const update = command._updateAsTuples().map(([key, value]): [string, unknown] => {
    const messages = key === "messages" && Array.isArray(value) ? value : undefined;
    return [
      key,
      messages?.map((one) => (ToolMessage.isInstance(one) ? bounded(one, maxChars) : one)) ?? value,
    ];
  });
  return command.update ? new Command({ graph, goto, resume, update }) : command;
}

function bounded(message: ToolMessage, maxChars: number): ToolMessage {
  const { content } = message;
  if (
    content !== undefined &&
    (typeof content !== "string" || (content !== "" && content.length <= maxChars))
  ) {
    return message;
  }
  const text = content ? cut(content, maxChars) : "The tool ended without output.";
  return new ToolMessage({ ...message.lc_kwargs, id: message.id, content: text } as never);
}

/** Beginning and end, with a note of what is missing between them. */
function cut(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const end = Math.floor(maxChars / 4);
  const left = text.length - maxChars;
  return `${text.slice(0, maxChars - end)}\n[… ${left} characters left out …]\n${text.slice(-end)}`.toWellFormed();
}
