// Puts the id of the thread's sandbox into the state (document 000, "sandbox") once a tool has used one. A tool
// acquires it by itself; the state learns of it with that tool's result, so a turn without commands starts none.
// Releasing is not done here: the sandbox is kept over the turns of the thread and goes when it is idle.
import { ToolMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import { createMiddleware } from "langchain";
import { type Sandboxes, ThreadState, threadIdOf } from "#kit";

interface SandboxOptions {
  readonly sandboxes: Pick<Sandboxes, "acquire" | "current">;
  /** False acquires at the start of each turn, so that the first command need not wait. */
  readonly lazyInit?: boolean;
}

export function createSandbox({ sandboxes, lazyInit = true }: SandboxOptions) {
  return createMiddleware({
    name: "sandbox",
    stateSchema: ThreadState.pick("sandbox").schema,
    beforeAgent: lazyInit
      ? undefined
      : async (state, runtime) => {
          const { id } = await sandboxes.acquire(threadIdOf(runtime));
          return state.sandbox?.sandbox_id === id ? undefined : { sandbox: { sandbox_id: id } };
        },
    wrapToolCall: async (request, handler) => {
      const result = await handler(request);
      const sandbox_id = sandboxes.current(threadIdOf(request.runtime))?.id;
      // Parallel first uses each write the id; it is the same one, and the key's handler takes both.
      if (sandbox_id === undefined || request.state.sandbox?.sandbox_id === sandbox_id) return result;
      return withUpdate(result, { sandbox: { sandbox_id } });
    },
  });
}

function withUpdate(result: ToolMessage | Command, update: Record<string, unknown>): Command {
  if (ToolMessage.isInstance(result)) return new Command({ update: { ...update, messages: [result] } });
  const { graph, goto, resume } = result;
  return new Command({
    graph,
    goto,
    resume,
    update: [...result._updateAsTuples(), ...Object.entries(update)],
  });
}
