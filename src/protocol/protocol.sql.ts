// The statements of the thread protocol.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";

/**
 * Up to which number the thread's stream has surely come: what a run that is created after this will send has higher
 * numbers, and what a run that is still running will send as well.
 */
export async function selectAppliedSeq(db: Queryable, threadId: string, scope: Scope): Promise<number> {
  const [row] = await db.query<{ seq: number }>(
    `select coalesce(
       (select min(r.stream_base) - 1 from heddle.runs r
        where r.thread_id = t.thread_id and r.finished_at is null and r.stream_base is not null),
       ((t.fencing_token + 1) << 28) - 1
     )::double precision as seq
     from heddle.threads t where t.thread_id = $1::uuid and ${inScope(2, "t.metadata")}`,
    [threadId, scope],
  );
  return row?.seq ?? 0;
}
