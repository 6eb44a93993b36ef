// The before and after hooks of a list of middlewares as one hook: run in order, each reading what the one before
// it wrote, ending at the first jump. With it the whole list is one node, one superstep and one checkpoint.
import type { AgentMiddleware, JumpToTarget } from "langchain";
import { named } from "./failure.ts";
import { createPendingUpdate, type PendingUpdate } from "./pending-update.ts";
import { hookContext, hookState, type Reducer, type Values } from "./schemas.ts";

/** State key for a jump that the fused after-agent node must take: see late-jump.ts. */
export const LATE_JUMP = "_late_jump";

export type HookName = "beforeAgent" | "beforeModel" | "afterModel" | "afterAgent";
type Hook = (state: Values, runtime: Values) => unknown;

export interface FusedHook {
  readonly hook: Hook;
  readonly canJumpTo: JumpToTarget[];
}

interface Step {
  readonly middleware: AgentMiddleware;
  readonly hook: Hook;
  readonly canJumpTo: readonly JumpToTarget[];
}

/** After hooks run from the last middleware to the first. Undefined when the list has no such hook. */
export function fuseHooks(
  list: readonly AgentMiddleware[],
  hookName: HookName,
  reducers: Readonly<Record<string, Reducer>>,
): FusedHook | undefined {
  const steps = list.flatMap((middleware) => toStep(middleware, hookName));
  if (hookName.startsWith("after")) steps.reverse();
  if (steps.length === 0) return undefined;
  return {
    hook: async (state, runtime) => {
      const pending = createPendingUpdate(state, reducers);
      const jump = await run(steps, hookName, pending, runtime);
      if (jump?.late) pending.add({ [LATE_JUMP]: jump.to });
      const update = pending.toUpdate();
      // LangChain would write back every key this node has read, the whole history among them. It spreads this
      // object under our update, so what is not in it is not written.
      for (const key of Object.keys(state)) delete state[key];
      return jump ? { ...update, jumpTo: jump.to } : update;
    },
    canJumpTo: [...new Set(steps.flatMap((step) => step.canJumpTo))],
  };
}

interface Jump {
  readonly to: JumpToTarget;
  readonly late: boolean;
}

async function run(
  steps: readonly Step[],
  hookName: HookName,
  pending: PendingUpdate,
  runtime: Values,
): Promise<Jump | undefined> {
  for (const step of steps) {
    const { middleware, hook, canJumpTo } = step;
    const to = await named(middleware.name, async () => {
      const context = Object.freeze(hookContext(middleware, runtime.context));
      const result = await hook(hookState(middleware, pending.state), Object.freeze({ ...runtime, context }));
      if (!result) return undefined;
      const { jumpTo: target, ...update } = toUpdate(result as Values);
      pending.add(update);
      return checkJump(target, canJumpTo, `${hookName} of middleware "${middleware.name}"`);
    });
    if (to) return { to, late: hookName === "afterModel" && to !== "tools" && step !== steps.at(-1) };
  }
  return undefined;
}

function toStep(middleware: AgentMiddleware, hookName: HookName): Step[] {
  const declared = middleware[hookName];
  if (!declared) return [];
  if (typeof declared === "function") return [{ middleware, hook: declared as Hook, canJumpTo: [] }];
  return [{ middleware, hook: declared.hook as Hook, canJumpTo: declared.canJumpTo ?? [] }];
}

/** LangChain's control action `{ type: "terminate" }` beside the plain update. */
function toUpdate(result: Values): Values {
  if (!("type" in result)) return result;
  if (result.type !== "terminate") throw new Error(`Invalid control action: ${JSON.stringify(result)}`);
  if (result.error) throw result.error;
  return { ...(result.result as Values | undefined), jumpTo: result.jumpTo };
}

function checkJump(
  target: unknown,
  canJumpTo: readonly JumpToTarget[],
  where: string,
): JumpToTarget | undefined {
  if (typeof target !== "string") return undefined;
  const allowed = canJumpTo.find((candidate) => candidate === target);
  if (allowed) return allowed;
  throw new Error(`Invalid jump target "${target}" in ${where}; canJumpTo is [${canJumpTo.join(", ")}].`);
}
