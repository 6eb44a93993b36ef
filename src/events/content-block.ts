// Parts of a message's content as providers write them: text, reasoning, media, tool calls, and whatever else as it is.
import { type Fields, isFields } from "./fields.ts";

/** Where a part belongs: parts with the same key go on with the same block. */
export interface Part {
  readonly key: string;
  /** "text" and "reasoning" grow by `text`, "data" by base64 text, "call" by arguments; "whole" comes at once. */
  readonly kind: "text" | "reasoning" | "data" | "call" | "whole";
  readonly text: string;
  /** The block's other fields, with its type. */
  readonly fields: Fields;
}

const MEDIA = new Set(["image", "audio", "video", "file"]);
/** What Anthropic's and OpenAI's formats say of tool calls inside the content; they come as tool calls as well. */
const CALLS = new Set(["tool_use", "input_json_delta", "tool_call", "tool_call_chunk", "function_call"]);

/** The parts of one message or chunk, in order. Unknown shapes give nothing. */
export function toParts(message: Fields): Part[] {
  const { content, additional_kwargs: extra } = message;
  const reasoning =
    isFields(extra) && typeof extra.reasoning_content === "string" ? extra.reasoning_content : "";
  const items = Array.isArray(content) ? content : [content];
  return [
    ...(reasoning === "" ? [] : [grow("reasoning", "reasoning", reasoning, {})]),
    ...items.flatMap(toPart),
    ...toCalls(message),
  ];
}

function toPart(item: unknown): Part[] {
  if (typeof item === "string") return item === "" ? [] : [grow("text", "text", item, {})];
  if (!isFields(item) || typeof item.type !== "string" || CALLS.has(item.type)) return [];
  const { type, index, ...rest } = item;
  const key = `${type}:${index ?? ""}`;
  switch (type) {
    case "text":
    case "text_delta": {
      const { text, ...fields } = rest;
      return [grow(index === undefined ? "text" : `text:${index}`, "text", toText(text), fields)];
    }
    case "reasoning":
    case "thinking": {
      const { reasoning, thinking, ...fields } = rest;
      return [grow(key, "reasoning", toText(reasoning ?? thinking), fields)];
    }
    case "image_url":
      return [{ key: "", kind: "whole", text: "", fields: { type: "image", url: toUrl(rest.image_url) } }];
    default:
      if (!MEDIA.has(type)) return [{ key: "", kind: "whole", text: "", fields: { type, ...rest } }];
      if (index !== undefined && typeof rest.data === "string") {
        const { data, ...fields } = rest;
        return [{ key, kind: "data", text: data, fields: { type, ...fields } }];
      }
      return [{ key: "", kind: "whole", text: "", fields: { type, ...rest } }];
  }
}

/** Chunks of calls while a message is streamed, else the calls. */
function toCalls({
  tool_call_chunks: chunks,
  tool_calls: calls,
  invalid_tool_calls: invalid,
}: Fields): Part[] {
  if (Array.isArray(chunks)) return chunks.filter(isFields).map(toCallChunk);
  const valid = listOf(calls).map((call) => ({ ...call, type: "tool_call" }));
  const broken = listOf(invalid).map((call) => ({ ...call, type: "invalid_tool_call" }));
  return [...valid, ...broken].map((fields) => ({ key: "", kind: "whole", text: "", fields }));
}

function toCallChunk({ id, name, args, index }: Fields): Part {
  return {
    key: `call:${index ?? ""}`,
    kind: "call",
    text: toText(args),
    fields: { ...(isText(id) ? { id } : {}), ...(isText(name) ? { name } : {}) },
  };
}

const grow = (key: string, kind: "text" | "reasoning", text: string, fields: Fields): Part => ({
  key,
  kind,
  text,
  fields: { type: kind, ...fields },
});

const listOf = (value: unknown) => (Array.isArray(value) ? value.filter(isFields) : []);
const toText = (value: unknown) => (typeof value === "string" ? value : "");
const isText = (value: unknown): value is string => typeof value === "string" && value !== "";
const toUrl = (image: unknown) => (isFields(image) ? image.url : image);
