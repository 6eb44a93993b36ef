// What the assistant, the thread and the request say of configuration and context, merged: later wins.
import type { RunConfig } from "./run-kwargs.ts";

/** Who asks for a run, as far as the graph is to know. */
export interface Caller {
  readonly identity: string;
  readonly permissions: readonly string[];
  readonly user: Readonly<Record<string, unknown>>;
}

/**
 * `configurable` is merged key by key. Left out are a client's `__` keys, which are LangGraph's own, and those that say who
 * he is: by them a graph's store knows its owner.
 */
export function mergeConfig(...configs: readonly (RunConfig | undefined)[]): RunConfig {
  const configurable = configs.flatMap((config) => Object.entries(config?.configurable ?? {}));
  return {
    ...Object.assign({}, ...configs),
    configurable: Object.fromEntries(configurable.filter(([key]) => !/^(__|langgraph_auth)/.test(key))),
  };
}

/** `user_id` may be said by the client; who he is, he says only by his credentials. */
export const toAuthFields = (caller: Caller | undefined, { configurable }: RunConfig) =>
  caller
    ? {
        user_id: configurable?.user_id ?? caller.identity,
        langgraph_auth_user: caller.user,
        langgraph_auth_user_id: caller.identity,
        langgraph_auth_permissions: caller.permissions,
      }
    : {};

export function mergeContext(base: Record<string, unknown>, over: unknown): unknown {
  if (over === undefined) return Object.keys(base).length > 0 ? base : undefined;
  return isRecord(over) ? { ...base, ...(over as object) } : over;
}

const isRecord = (value: unknown) => typeof value === "object" && value !== null && !Array.isArray(value);
