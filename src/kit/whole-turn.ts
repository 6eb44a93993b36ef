// Brings a model's turn into the form in which it is kept: a whole message instead of merged chunks, every tool
// call with an id that no other call of the thread has. Only what can be mended without guessing is mended:
// LangChain's partial parser makes a shorter command of one that was cut off, and such a call is invalid here.
import { randomUUID } from "node:crypto";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";

type ToolCalls = NonNullable<AIMessage["tool_calls"]>;
type InvalidToolCalls = NonNullable<AIMessage["invalid_tool_calls"]>;

/** `history` is what the turn answers. The message keeps its id. */
export function toWholeTurn(message: AIMessage, history: readonly BaseMessage[]): AIMessage {
  const { calls, invalid } = readCalls(message);
  const { tool_calls: _raw, refusal, ...additional_kwargs } = message.additional_kwargs;
  // A refusal is an answer; OpenAI sends its words beside an empty content.
  const content = message.text === "" && typeof refusal === "string" ? refusal : message.content;
  return new AIMessage({
    id: message.id,
    name: message.name,
    content,
    additional_kwargs,
    response_metadata: message.response_metadata,
    usage_metadata: message.usage_metadata,
    tool_calls: withOwnIds(calls, history),
    invalid_tool_calls: invalid,
  });
}

interface WrittenCall {
  readonly name: string;
  /** As the model wrote them. */
  readonly args: string;
  readonly id: string | undefined;
  readonly custom: boolean;
}

function readCalls(message: AIMessage): { calls: ToolCalls; invalid: InvalidToolCalls } {
  const written = AIMessageChunk.isInstance(message) ? joinChunks(message) : [];
  const calls: ToolCalls = written.length > 0 ? [] : [...(message.tool_calls ?? [])];
  const invalid: InvalidToolCalls = [];
  for (const call of written.length > 0 ? written : (message.invalid_tool_calls ?? [])) {
    const { name = "", id, args = "" } = call;
    const parsed = "custom" in call && call.custom ? { input: args } : parseObject(args);
    // A call counts as invalid for LangChain when it has no id, too.
    if (parsed && (written.length > 0 || !id)) calls.push({ name, args: parsed, id, type: "tool_call" });
    else
      invalid.push({ name, args, id, error: "The arguments are no JSON object.", type: "invalid_tool_call" });
  }
  return { calls, invalid };
}

function joinChunks(message: AIMessageChunk): WrittenCall[] {
  const calls = new Map<string, WrittenCall>();
  for (const [position, chunk] of (message.tool_call_chunks ?? []).entries()) {
    let key = String(chunk.index ?? chunk.id ?? `at ${position}`);
    // Some endpoints give every call of a turn the same index, others every part of a call another id.
    while (chunk.id && isWhole(calls.get(key)) && calls.get(key)?.id !== chunk.id) key += "+";
    const begun = calls.get(key);
    calls.set(key, {
      name: begun?.name || chunk.name || "",
      args: (begun?.args ?? "") + (chunk.args ?? ""),
      id: begun?.id || chunk.id,
      custom: begun?.custom || ("isCustomTool" in chunk && chunk.isCustomTool === true),
    });
  }
  return [...calls.values()];
}

function isWhole(call: WrittenCall | undefined): boolean {
  return call !== undefined && call.args.trim() !== "" && parseObject(call.args) !== undefined;
}

function parseObject(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || "{}");
    return typeof value === "object" && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** Some endpoints send no ids, or count anew in every turn; a result could then belong to two calls. */
function withOwnIds(calls: ToolCalls, history: readonly BaseMessage[]): ToolCalls {
  const earlier = history.flatMap((message) =>
    AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [],
  );
  const taken = new Set(earlier.map(({ id }) => id));
  return calls.map((call) => {
    const id =
      call.id && !taken.has(call.id) ? call.id : `call_${randomUUID().replaceAll("-", "").slice(0, 24)}`;
    taken.add(id);
    return { ...call, id };
  });
}
