// Tells a model's broken turn from a good one, which LangChain does not: it ends the run as a success on each of
// these. Knows the words of several providers, and the forms in which models write calls as text.
import type { AIMessage } from "@langchain/core/messages";

export interface TurnFault {
  readonly kind: "cut_off" | "filtered" | "invalid_arguments" | "no_tool_name" | "empty" | "call_as_text";
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
  const said = message.text.replace(/<think>[\s\S]*?(?:<\/think>|$)/g, "").trim();
  if (said === "" && !hasOtherContent(message)) {
    return { kind: "empty", reason: "was empty", advice: "Answer the user, or call a tool." };
  }
  if (isCallAsText(said, tools)) {
    const advice = `No tool was run. Use the tool interface, not text, to call one of: ${tools.join(", ")}.`;
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
  const incomplete = metadata.incomplete_details;
  const detail =
    typeof incomplete === "object" && incomplete !== null && "reason" in incomplete ? incomplete.reason : "";
  const found =
    metadata.finish_reason ??
    metadata.stop_reason ??
    metadata.finishReason ??
    detail ??
    additional_kwargs.stop_reason;
  return typeof found === "string" ? found : "";
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Images, audio, files: an answer without words. Thoughts are none. */
function hasOtherContent({ content }: AIMessage): boolean {
  if (typeof content === "string") return false;
  return content.some(
    ({ type }) => !/^(?:text|reasoning|thinking|redacted_thinking|tool_)/.test(String(type)),
  );
}

const MARKER =
  /<tool_call>|<\/?function_calls?>|<function=|<invoke\s+name=|<tool_use>|<tool_code>|\[TOOL_CALLS\]|<\|tool_call|<｜tool/;

/** A call in one of the forms that models fall into. Code that an answer shows is not one. */
function isCallAsText(text: string, tools: readonly string[]): boolean {
  const prose = text.replace(/```[\s\S]*?(?:```|$)/g, "").replace(/`[^`\n]*`/g, "");
  const at = prose.trim().search(MARKER);
  if (at === 0 || (at > 0 && tools.some((name) => prose.includes(name, at)))) return true;
  const whole = text.replace(/^```\w*\n([\s\S]*?)\n?```$/, "$1");
  return isJson(whole) && [JSON.parse(whole)].flat().some((value) => isCallObject(value, tools));
}

function isCallObject(value: unknown, tools: readonly string[]): boolean {
  if (typeof value !== "object" || value === null) return false;
  const { name, function: inner, ...rest } = value as Record<string, unknown>;
  if (typeof inner === "object") return isCallObject(inner, tools);
  const called = name ?? inner;
  const keys = ["arguments", "parameters", "args", "input"];
  return typeof called === "string" && tools.includes(called) && keys.some((key) => key in rest);
}

function excerpt(text: string): string {
  return JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}…` : text);
}
