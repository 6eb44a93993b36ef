// Keeps the name of the middleware that failed: a fused chain is one node, so its name alone would not tell.
import { isGraphBubbleUp } from "@langchain/langgraph";
import { MiddlewareError } from "langchain";

const NAME = Symbol("heddle.middleware");

/** The name of the middleware in a fused chain that threw `error`; undefined when it came from elsewhere. */
export function middlewareOf(error: unknown): string | undefined {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (NAME in cause && typeof cause[NAME] === "string") return cause[NAME];
  }
  return undefined;
}

/**
 * Runs `call` and puts `name` on what it throws. The error stays the same object, so its class, code and stack
 * survive. Errors in `foreign` (from the model, the tool, an inner layer) and interrupts are left alone.
 */
export async function named<Result>(
  name: string,
  call: () => Result | Promise<Result>,
  foreign?: WeakSet<object>,
): Promise<Result> {
  try {
    return await call();
  } catch (thrown) {
    if (isGraphBubbleUp(thrown) || (typeof thrown === "object" && thrown !== null && foreign?.has(thrown))) {
      throw thrown;
    }
    const error = thrown instanceof Error ? thrown : MiddlewareError.wrap(thrown, name);
    if (Object.isExtensible(error)) Object.defineProperty(error, NAME, { value: name, configurable: true });
    foreign?.add(error);
    throw error;
  }
}
