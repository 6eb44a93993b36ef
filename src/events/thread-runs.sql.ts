// The statements that find a thread's runs for those who read it.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";

export interface StreamedRunRow {
  readonly run_id: string;
  readonly run_number: number;
  /** Null: nobody has started it yet. */
  readonly stream_base: number | null;
  /** Milliseconds since 1970. */
  readonly started_at: number;
  readonly graph_id: string | null;
  /** What it resumes the thread with. */
  readonly resume: unknown;
}

/** The runs of a thread from a run_number on, in the order of the stream; those that have no place yet are last. */
export const selectStreamedRuns = (
  db: Queryable,
  { threadId, scope, from }: { threadId: string; scope: Scope; from: number },
) =>
  db.query<StreamedRunRow>(
    `select r.run_id, r.run_number::double precision, r.stream_base::double precision,
       floor(extract(epoch from r.stream_started_at) * 1000)::double precision as started_at,
       r.metadata ->> 'graph_id' as graph_id, r.kwargs -> 'command' -> 'resume' as resume
     from heddle.runs r
     where r.thread_id = $1::uuid and r.run_number >= $3::double precision::bigint
       and exists (select 1 from heddle.threads where thread_id = $1::uuid and ${inScope(2)})
     order by r.stream_base nulls last`,
    [threadId, scope, from],
  );

/** How a run has ended, or how it is now. */
export const selectRunEnd = (db: Queryable, runId: string) =>
  db.query<{ status: string; error: { message?: string } | null }>(
    "select status, error from heddle.runs where run_id = $1::uuid",
    [runId],
  );

/** A text that changes whenever something may have happened on the thread; no row for a thread that is not there. */
export const selectThreadVersions = (db: Queryable, threadIds: readonly string[]) =>
  db.query<{ thread_id: string; version: string }>(
    "select thread_id, xmin::text as version from heddle.threads where thread_id = any ($1::uuid[])",
    [threadIds],
  );
