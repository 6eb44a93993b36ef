// Named checkpoints in PostgreSQL, beside what they are of: they go with their thread's row.
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { threadNotFound } from "../threads/state.ts";
import type { CheckpointBackend, CheckpointStorage } from "./storage.ts";
import { parseCheckpoint } from "./workflow-checkpoint.ts";
import {
  deleteCheckpoint,
  selectCheckpoint,
  selectCheckpointIds,
  selectCheckpointList,
  upsertCheckpoint,
} from "./workflow-checkpoints.sql.ts";

export function createPostgresStorage({ db }: { db: Database }): CheckpointBackend<Scope> {
  return {
    open: (place): CheckpointStorage => ({
      async save(checkpoint) {
        const [saved] = await upsertCheckpoint(db, place, {
          id: checkpoint.checkpoint_id,
          workflowId: checkpoint.workflow_id,
          isAutomatic: checkpoint.trigger !== "request",
          document: JSON.stringify(checkpoint),
          createdAt: checkpoint.created_at,
        });
        if (!saved) throw threadNotFound(place.threadId);
      },
      async load(checkpointId) {
        const [row] = await selectCheckpoint(db, place, checkpointId);
        return row && parseCheckpoint(row.document);
      },
      async listIds(filter = {}) {
        const rows = await selectCheckpointIds(db, place, filter);
        return rows.map(({ checkpoint_id }) => checkpoint_id);
      },
      async list(filter = {}) {
        const rows = await selectCheckpointList(db, place, filter);
        return rows.map(({ document }) => parseCheckpoint(document));
      },
      async delete(checkpointId) {
        return (await deleteCheckpoint(db, place, checkpointId)).length > 0;
      },
    }),
    // With the thread's row, by cascade.
    async removeThread() {},
    async close() {},
  };
}
