// Makes one middleware of many. In createAgent each before and after hook of each middleware is a node of its own:
// a superstep and a checkpoint. Fused, a chain of any length has at most one of each kind.
import { StateSchema } from "@langchain/langgraph";
import { type AgentMiddleware, createMiddleware } from "langchain";
import { fuseHooks } from "./fuse/hooks.ts";
import { withLateJump } from "./fuse/late-jump.ts";
import { fuseModelCalls } from "./fuse/model-call.ts";
import { mergeContextSchemas, mergeStateFields, reducersOf } from "./fuse/schemas.ts";
import { fuseToolCalls } from "./fuse/tool-call.ts";

interface FuseOptions {
  /** The `name` that createAgent was given; it signs the model's messages with it. */
  readonly agentName?: string;
}

/**
 * The middlewares of `list` as one, with the effect they would have one by one: before hooks and wraps in order
 * (the first wraps the others), after hooks in reverse. Takes anything `createMiddleware` gives. Two differences,
 * both wanted: state that a hook only read is not written back, and an error keeps the inner middleware's name
 * (`middlewareOf`).
 * @throws Error when two middlewares have the same name
 */
export function fuseMiddlewares(
  name: string,
  list: readonly AgentMiddleware[],
  { agentName = "model" }: FuseOptions = {},
): AgentMiddleware {
  const names = new Set<string>();
  for (const middleware of list) {
    if (names.has(middleware.name))
      throw new Error(`Middleware ${middleware.name} is defined multiple times`);
    names.add(middleware.name);
  }
  const fields = mergeStateFields(list);
  const reducers = reducersOf(fields);
  const hooks = withLateJump({
    beforeAgent: fuseHooks(list, "beforeAgent", reducers),
    beforeModel: fuseHooks(list, "beforeModel", reducers),
    afterModel: fuseHooks(list, "afterModel", reducers),
    afterAgent: fuseHooks(list, "afterAgent", reducers),
  });
  const stateFields = { ...fields, ...hooks.fields };
  const fused = {
    name,
    stateSchema: Object.keys(stateFields).length > 0 ? new StateSchema(stateFields) : undefined,
    contextSchema: mergeContextSchemas(list),
    ...hooks.hooks,
    wrapModelCall: fuseModelCalls(list, reducers, agentName),
    wrapToolCall: fuseToolCalls(list),
    tools: list.flatMap(({ tools }) => tools ?? []),
    streamTransformers: list.flatMap(({ streamTransformers }) => streamTransformers ?? []),
  };
  // The parts were typed as what LangChain calls them with; its generics cannot follow a list that is not a tuple.
  return createMiddleware(fused as unknown as Parameters<typeof createMiddleware>[0]) as AgentMiddleware;
}
