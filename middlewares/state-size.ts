// Warns when a thread's state has become large (document 000, "State Size Monitoring"): every checkpoint holds it.
// The warning goes to the log and, as a custom event, to the client; the run is not touched.

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createMiddleware } from "langchain";
import { ThreadState } from "#kit";

export interface StateSizeWarning {
  readonly type: "state_size";
  readonly bytes: number;
  readonly limit_bytes: number;
  /** Bytes of each key, so that one sees what to do about it. */
  readonly parts: Readonly<Record<string, number>>;
}

interface StateSizeOptions {
  readonly limitBytes?: number;
  readonly warn?: (warning: StateSizeWarning) => void;
}

export function createStateSize({ limitBytes = 1_000_000, warn }: StateSizeOptions = {}) {
  return createMiddleware({
    name: "state-size",
    stateSchema: ThreadState.pick("viewed_images", "artifacts").schema,
    afterAgent: ({ messages, viewed_images, artifacts }, runtime) => {
      const parts = {
        // Their own toJSON takes ten times as long, and this runs in every turn.
        messages: sizeOf(messages.map(toStored)),
        viewed_images: sizeOf(viewed_images),
        artifacts: sizeOf(artifacts),
      };
      const bytes = Object.values(parts).reduce((sum, part) => sum + part, 0);
      if (bytes <= limitBytes) return undefined;
      const warning: StateSizeWarning = { type: "state_size", bytes, limit_bytes: limitBytes, parts };
      warn?.(warning);
      runtime.writer?.(warning);
      return undefined;
    },
  });
}

function toStored(message: BaseMessage): unknown {
  const { content, additional_kwargs, response_metadata } = message;
  return [
    content,
    additional_kwargs,
    response_metadata,
    AIMessage.isInstance(message) ? message.tool_calls : null,
  ];
}

/** Bytes as JSON, which is near what a checkpoint takes. */
function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value) ?? "");
}
