// The statement that reads what of a run its envelopes need besides its events.
import type { Queryable } from "../db/database.ts";

export interface LoggedRunRow {
  readonly run_id: string;
  readonly status: string;
  /** Null: nobody has started it yet. */
  readonly stream_base: number | null;
  /** Milliseconds since 1970. */
  readonly started_at: number;
  readonly graph_id: string | null;
  readonly input: unknown;
  readonly command: { readonly resume?: unknown } | null;
  readonly stream_mode: readonly string[];
  readonly stream_subgraphs: boolean;
  /** The newest event of its log, -1 when there is none. */
  readonly last: number;
}

/** No row: the run is gone. */
export const selectLoggedRun = (db: Queryable, runId: string) =>
  db.query<LoggedRunRow>(
    `select r.run_id, r.status, r.stream_base::double precision,
       floor(extract(epoch from r.stream_started_at) * 1000)::double precision as started_at,
       r.metadata ->> 'graph_id' as graph_id, r.kwargs -> 'input' as input, r.kwargs -> 'command' as command,
       r.kwargs -> 'stream_mode' as stream_mode, (r.kwargs ->> 'stream_subgraphs')::boolean as stream_subgraphs,
       coalesce((select max(e.seq) from heddle.run_events e where e.run_id = r.run_id), -1) as last
     from heddle.runs r where r.run_id = $1::uuid`,
    [runId],
  );
