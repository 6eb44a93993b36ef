// Shows the state at the start of each turn (document 000, "Inspecting Current State"), for someone who writes a
// middleware or a tool. Off unless it is put into the chain. Images show as their paths.

import { createMiddleware } from "langchain";
import { ThreadState } from "#kit";

export interface DebugState {
  readonly type: "debug_state";
  readonly state: Readonly<Record<string, unknown>>;
}

interface DebugStateOptions {
  readonly log?: (shown: DebugState) => void;
}

export function createDebugState({ log }: DebugStateOptions = {}) {
  return createMiddleware({
    name: "debug-state",
    stateSchema: ThreadState.schema,
    beforeAgent: ({ messages, viewed_images, ...state }, runtime) => {
      const shown: DebugState = {
        type: "debug_state",
        state: { ...state, messages: messages.length, viewed_images: Object.keys(viewed_images ?? {}) },
      };
      log?.(shown);
      runtime.writer?.(shown);
      return undefined;
    },
  });
}
