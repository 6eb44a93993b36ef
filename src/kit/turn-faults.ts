// Tells a model's broken turn from a good one, which LangChain does not: it ends the run as a success on each of
// these. Knows the words of several providers.
import type { AIMessage } from "@langchain/core/messages";
import { isCallAsText } from "./call-as-text.ts";

export interface TurnFault {
  readonly kind:
    | "cut_off"
    | "filtered"
    | "invalid_arguments"
    | "no_tool_name"
    | "no_call"
    | "empty"
    | "call_as_text";
  /** For a person, to go on after "the model's reply": "was cut off at its length limit". */
  readonly reason: string;
  /** For the model: what to do otherwise. */
  readonly advice: string;
}

const AGAIN =
  "No tool was run. Make the call again, with the whole of its arguments as one valid JSON object.";
/** finish_reason and its like, in the words of the providers. */
const CUT_OFF = /^(?:length|max_?tokens|max_output_tokens|model_length)$/i;
const FILTERED = /^(?:content_filter|safety|recitation|prohibited_content|blocklist)$/i;
const CALLED = /^(?:tool_calls?|tool_use|function_call)$/i;

/** What is wrong with a turn as `toWholeTurn` gives it, with the names of the tools it could call; undefined when nothing is. */
export function faultOfTurn(message: AIMessage, tools: readonly string[]): TurnFault | undefined {
  const calls = message.tool_calls ?? [];
  const names = [...calls, ...(message.invalid_tool_calls ?? [])].map(({ name }) => name || "a tool");
  const finish = finishReason(message);
  if (CUT_OFF.test(finish)) return cutOff(names);
  if (FILTERED.test(finish)) {
    return {
      kind: "filtered",
      reason: "was cut off by the provider's content filter",
      advice: "Answer in other words, or say that you cannot help with this.",
    };
  }
  const [invalid] = message.invalid_tool_calls ?? [];
  if (invalid) {
    const reason = `called ${invalid.name || "a tool"} with arguments that are not valid JSON`;
    return {
      kind: "invalid_arguments",
      reason,
      advice: `They began with: ${excerpt(invalid.args ?? "")}\n${AGAIN}`,
    };
  }
  if (calls.some(({ name }) => !name)) {
    const advice = `No tool was run. The tools are: ${tools.join(", ")}.`;
    return { kind: "no_tool_name", reason: "called a tool without naming it", advice };
  }
  if (calls.length > 0) return undefined;
  if (CALLED.test(finish)) {
    return { kind: "no_call", reason: "announced a tool call that did not come with it", advice: AGAIN };
  }
  const said = message.text.replace(/<think>[\s\S]*?(?:<\/think>|$)/g, "").trim();
  if (said === "" && !hasOtherContent(message)) {
    return { kind: "empty", reason: "was empty", advice: "Answer the user, or call a tool." };
  }
  if (isCallAsText(said, tools)) {
    const advice =
      `No tool was run. Use the tool interface, not text, to call one of: ${tools.join(", ")}. ` +
      "Text that only shows a call belongs into a code block.";
    return { kind: "call_as_text", reason: "was a tool call written as text", advice };
  }
  return undefined;
}

function cutOff(names: readonly string[]): TurnFault {
  const [name] = names;
  if (name === undefined) {
    return {
      kind: "cut_off",
      reason: "was cut off at its length limit",
      advice: "Answer again, shorter, so that the whole answer fits. Put long text into a file.",
    };
  }
  return {
    kind: "cut_off",
    reason: `was cut off at its length limit in the middle of a call of ${name}`,
    advice: `${AGAIN} If it is too long, do the work in several smaller calls.`,
  };
}

function finishReason({ response_metadata: metadata, additional_kwargs }: AIMessage): string {
  const incomplete = metadata.incomplete_details as { reason?: unknown } | null | undefined;
  const reasons: unknown[] = [
    ...[metadata.finish_reason, metadata.stop_reason, metadata.finishReason],
    ...[incomplete?.reason, additional_kwargs.stop_reason],
  ];
  return reasons.find((reason) => typeof reason === "string") ?? "";
}

/** Images, audio, files: an answer without words. Thoughts are none. */
function hasOtherContent({ content }: AIMessage): boolean {
  if (typeof content === "string") return false;
  return content.some(
    ({ type }) => !/^(?:text|reasoning|thinking|redacted_thinking|tool_)/.test(String(type)),
  );
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text);
}
