// A write that names the handler which is to merge it. Tools of one step run side by side and do not see each
// other's results, so a handler can only run where LangGraph merges them, in the channel; and what waits there is
// stored as JSON until the step ends, so it holds a name and no function. Plain data, as LangGraph's own Overwrite.

const HANDLER = "__handler__";

interface HandlerWrite {
  /** Null means the handler that the key has. */
  readonly [HANDLER]: string | null;
  readonly value: unknown;
}

/** `value`, to be merged by the key's handler of this name instead of by the one it has. */
export function withHandler<Value>(handler: string | null, value: Value): Value {
  return { [HANDLER]: handler, value } satisfies HandlerWrite as unknown as Value;
}

export function readHandlerWrite(write: unknown): { handler: string | null; value: unknown } | undefined {
  if (typeof write !== "object" || write === null || !(HANDLER in write)) return undefined;
  const { [HANDLER]: handler, value, ...rest } = write as HandlerWrite;
  if ((handler !== null && typeof handler !== "string") || Object.keys(rest).length > 0) return undefined;
  return { handler, value };
}

/** As data, even where a channel would take it for an order: what a tool has read somewhere decides no merge. */
export function asData(value: unknown): unknown {
  if (typeof value !== "object" || value === null) return value;
  const isOrder =
    HANDLER in value || "__overwrite__" in value || ("type" in value && value.type === "__overwrite__");
  return isOrder ? withHandler(null, value) : value;
}
