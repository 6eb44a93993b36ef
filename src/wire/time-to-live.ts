// What the project says of how long its threads are kept.
import type { Project } from "../graphs/langgraph-json.ts";
import type { Ttl } from "../threads/threads.sql.ts";

export function toTtl({ checkpointer }: Project): Ttl | undefined {
  const ttl = checkpointer?.ttl;
  if (ttl?.default_ttl === undefined) return undefined;
  return { minutes: ttl.default_ttl, strategy: ttl.strategy };
}
