// One message on its way to the client: its blocks, one after the other, grow by the parts that come. What is emitted
// follows from the parts alone.

import type { Part } from "../events/content-block.ts";
import { type Fields, isFields } from "../events/fields.ts";
import { addUsage, toFinishReason } from "../events/model-call.ts";

export interface OpenMessage {
  add(parts: readonly Part[]): void;
  /** Usage and metadata of the model, which chunks bring bit by bit. */
  note(message: Fields): void;
  /** Whether the model has said why it stopped, and what it has used: nothing more will come. */
  hasEnded(): boolean;
  finish(): void;
  /** It will not be finished: its run was cut off. */
  abandon(): void;
}

interface Block {
  readonly index: number;
  readonly key: string;
  readonly kind: Part["kind"];
  text: string;
  /** Characters of `text` that the client has. */
  sent: number;
  fields: Fields;
}

/** Arguments are sent whole each time, so of long ones only when they have grown by an eighth. */
const SHORT_ARGUMENTS = 256;

export function openMessage(
  { id, role, metadata }: { id: string; role: string; metadata: Fields },
  emitData: (data: Fields) => void,
): OpenMessage {
  // Clients tell messages that are streamed at the same time by the run of their model, which has given its id to the message.
  const runId = id.replace(/^run-/, "");
  const emit = (data: Fields) => emitData({ ...data, run_id: runId });
  const calls: Block[] = [];
  let blocks = 0;
  let current: Block | undefined;
  let usage: Fields | undefined;
  let response: Fields = {};

  emit({
    event: "message-start",
    id,
    role,
    ...(Object.keys(metadata).length > 0 ? { metadata } : {}),
  });

  const open = (part: Part) => {
    close();
    const { key, kind, fields } = part;
    current = { index: blocks++, key, kind, text: "", sent: 0, fields };
    if (kind === "call") calls.push(current);
    emit({ event: "content-block-start", index: current.index, content: toStart(current) });
    return current;
  };

  const close = () => {
    if (current) emit({ event: "content-block-finish", index: current.index, content: toFinished(current) });
    current = undefined;
  };

  const grow = (block: Block, { text, fields }: Part) => {
    block.fields = { ...block.fields, ...fields };
    block.text += text;
    const delta = toDelta(block, text);
    if (delta) emit({ event: "content-block-delta", index: block.index, delta });
  };

  return {
    add(parts) {
      for (const part of parts) {
        if (part.kind === "whole") {
          open(part);
          close();
          continue;
        }
        const known =
          part.kind === "call" ? findCall(calls, part) : current?.key === part.key ? current : undefined;
        if (known && known !== current) {
          // A call that goes on after another one has begun: it is finished once more.
          close();
          current = known;
        }
        grow(known ?? open(part), part);
      }
    },
    note({ usage_metadata, response_metadata }) {
      if (isFields(usage_metadata)) usage = usage ? addUsage(usage, usage_metadata) : usage_metadata;
      if (isFields(response_metadata)) response = { ...response, ...response_metadata };
    },
    hasEnded: () => usage !== undefined && toFinishReason(response) !== undefined,
    finish() {
      close();
      const reason = toFinishReason(response);
      emit({
        event: "message-finish",
        ...(reason === undefined ? {} : { reason }),
        ...(usage === undefined ? {} : { usage }),
        ...(Object.keys(response).length > 0 ? { responseMetadata: response } : {}),
      });
    },
    abandon: () =>
      emit({ event: "error", message: "The message was cut off before its end.", code: "aborted" }),
  };
}

/** A part with an id of its own begins a call; one without goes on with the last call of its place. */
function findCall(calls: readonly Block[], { key, fields }: Part): Block | undefined {
  const found = calls.findLast((call) => call.key === key);
  if (fields.id === undefined || found?.fields.id === undefined) return found;
  return found.fields.id === fields.id ? found : undefined;
}

function toStart({ kind, fields }: Block): Fields {
  switch (kind) {
    case "text":
      return { ...fields, text: "" };
    case "reasoning":
      return { ...fields, reasoning: "" };
    case "data":
      return { ...fields, data: "" };
    case "call":
      return { ...fields, type: "tool_call_chunk", args: "" };
    case "whole":
      return fields;
  }
}

function toDelta(block: Block, text: string): Fields | undefined {
  switch (block.kind) {
    case "text":
      return text === "" ? undefined : { type: "text-delta", text };
    case "reasoning":
      return text === "" ? undefined : { type: "reasoning-delta", reasoning: text };
    case "data":
      return { type: "data-delta", data: text, encoding: "base64" };
    case "call": {
      const { length } = block.text;
      if (length === block.sent || (length > SHORT_ARGUMENTS && length < block.sent * 1.125))
        return undefined;
      block.sent = length;
      const fields = { ...block.fields, type: "tool_call_chunk", args: block.text };
      return { type: "block-delta", fields };
    }
    case "whole":
      return undefined;
  }
}

function toFinished({ kind, fields, text }: Block): Fields {
  switch (kind) {
    case "text":
      return { ...fields, text };
    case "reasoning":
      return { ...fields, reasoning: text };
    case "data":
      return { ...fields, data: text };
    case "call": {
      const call = { id: fields.id ?? null, name: fields.name ?? null };
      const args = text === "" ? {} : parse(text);
      return isFields(args) && call.name !== null
        ? { type: "tool_call", ...call, args }
        : { type: "invalid_tool_call", ...call, args: text, error: "The arguments are not a JSON object." };
    }
    case "whole":
      return fields;
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
