// Tool calls as the stream mode `tools` tells them become the protocol's.
import { type Fields, isFields } from "../events/fields.ts";

export function toToolData(data: Fields): Fields {
  const { event, toolCallId, name, input, output, error } = data;
  const call = { tool_call_id: typeof toolCallId === "string" ? toolCallId : "" };
  switch (event) {
    case "on_tool_start":
      return { event: "tool-started", ...call, tool_name: typeof name === "string" ? name : "tool", input };
    case "on_tool_end":
      return { event: "tool-finished", ...call, output };
    case "on_tool_error":
      return { event: "tool-error", ...call, message: toMessage(error) };
    default:
      return { event: "tool-output-delta", ...call, delta: toText(data.data) };
  }
}

const toText = (value: unknown) => (typeof value === "string" ? value : JSON.stringify(value ?? null));

const toMessage = (error: unknown) =>
  isFields(error) && typeof error.message === "string" ? error.message : toText(error);
