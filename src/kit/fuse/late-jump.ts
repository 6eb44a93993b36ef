// Jumps from afterModel hooks. After a final answer createAgent ignores a jump to the model from the first
// middleware of the chain and follows it from every other; a jump to the end it lets bypass the afterAgent hooks,
// again from every other. A fused chain is always the first. So such a jump is noted in the state, and the fused
// after-agent node, which comes next, takes it before it does anything else.
import { ReducedValue, type StateSchemaFields } from "@langchain/langgraph";
import type { JumpToTarget } from "langchain";
import { z } from "zod";
import { replaceValues } from "../merge.ts";
import { type FusedHook, type HookName, LATE_JUMP } from "./hooks.ts";

type Hooks = Readonly<Partial<Record<HookName, FusedHook | undefined>>>;

interface WithLateJump {
  readonly hooks: Hooks;
  /** State keys that the hooks need beside the middlewares' own. */
  readonly fields: StateSchemaFields;
}

/** The hooks unchanged, unless one of the afterModel hooks may jump. */
export function withLateJump(hooks: Hooks): WithLateJump {
  const { afterModel, afterAgent } = hooks;
  if (!afterModel?.canJumpTo.length) return { hooks, fields: {} };
  const type = z.enum(["model", "end"]).nullish();
  const canJumpTo = new Set<JumpToTarget>([...(afterAgent?.canJumpTo ?? []), "model"]);
  return {
    hooks: { ...hooks, afterAgent: { hook: takeJump(afterAgent?.hook), canJumpTo: [...canJumpTo] } },
    fields: { [LATE_JUMP]: new ReducedValue(type, { inputSchema: type, reducer: replaceValues }) },
  };
}

function takeJump(hook: FusedHook["hook"] | undefined): FusedHook["hook"] {
  return (state, runtime) => {
    const to = state[LATE_JUMP];
    if (to !== "model" && to !== "end") return hook?.(state, runtime);
    for (const key of Object.keys(state)) delete state[key];
    return to === "model" ? { [LATE_JUMP]: null, jumpTo: to } : { [LATE_JUMP]: null };
  };
}
