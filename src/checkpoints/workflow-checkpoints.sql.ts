// The statements on named checkpoints in PostgreSQL. Each sees only those of a thread that the caller may see.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";
import type { ListFilter } from "./storage.ts";

export interface Place {
  readonly threadId: string;
  readonly scope?: Scope;
}

const visible = `exists (
  select 1 from heddle.threads t where t.thread_id = $1::uuid and ${inScope(2, "t.metadata")}
)`;

/** No row when there is no such thread. */
export const upsertCheckpoint = (
  db: Queryable,
  { threadId, scope }: Place,
  row: { id: string; workflowId: string; isAutomatic: boolean; document: string; createdAt: string },
) =>
  db.query<{ checkpoint_id: string }>(
    `insert into heddle.workflow_checkpoints (thread_id, checkpoint_id, workflow_id, is_automatic, document, created_at)
     select $1::uuid, $3::uuid, $4::text, $5::boolean, $6::json, $7::timestamptz where ${visible}
     on conflict (thread_id, checkpoint_id) do update
     set workflow_id = excluded.workflow_id, is_automatic = excluded.is_automatic, document = excluded.document, created_at = excluded.created_at
     returning checkpoint_id`,
    [threadId, scope, row.id, row.workflowId, row.isAutomatic, row.document, row.createdAt],
  );

export const selectCheckpoint = (db: Queryable, { threadId, scope }: Place, checkpointId: string) =>
  db.query<{ document: string }>(
    `select document::text as document from heddle.workflow_checkpoints
     where thread_id = $1::uuid and checkpoint_id = $3::uuid and ${visible}`,
    [threadId, scope, checkpointId],
  );

const LISTED = `where thread_id = $1::uuid and ($3::text is null or workflow_id = $3::text)
  and (is_automatic or not $4::boolean) and ${visible}
  order by created_at desc, checkpoint_id desc`;

export const selectCheckpointIds = (
  db: Queryable,
  { threadId, scope }: Place,
  { workflowId, isAutomatic = false }: ListFilter,
) =>
  db.query<{ checkpoint_id: string }>(`select checkpoint_id from heddle.workflow_checkpoints ${LISTED}`, [
    threadId,
    scope,
    workflowId ?? null,
    isAutomatic,
  ]);

export const selectCheckpointList = (
  db: Queryable,
  { threadId, scope }: Place,
  { workflowId, isAutomatic = false, limit, offset = 0 }: ListFilter,
) =>
  db.query<{ document: string }>(
    `select document::text as document from heddle.workflow_checkpoints ${LISTED}
     limit $5::bigint offset $6::bigint`,
    [threadId, scope, workflowId ?? null, isAutomatic, limit ?? null, offset],
  );

export const deleteCheckpoint = (db: Queryable, { threadId, scope }: Place, checkpointId: string) =>
  db.query<{ checkpoint_id: string }>(
    `delete from heddle.workflow_checkpoints
     where thread_id = $1::uuid and checkpoint_id = $3::uuid and ${visible} returning checkpoint_id`,
    [threadId, scope, checkpointId],
  );
