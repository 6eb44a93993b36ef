// A run as clients see it.
import type { RunRow } from "../runs/runs.sql.ts";

/** Who has asked for it is for the graph alone: what `authenticate` says of him may hold a token. */
export function showRun({ error, cancel_reason, kwargs, ...run }: RunRow) {
  const { langgraph_auth_user: _, ...configurable } = kwargs.config.configurable ?? {};
  return {
    ...run,
    kwargs: { ...kwargs, config: { ...kwargs.config, configurable } },
    ...(error === null ? {} : { error }),
    ...(cancel_reason === null ? {} : { cancel_reason }),
  };
}
