// Shapes of the routes of named checkpoints.
import { z } from "zod";
import { bodyOrNone, jsonObject, optional, pageQuery, storableText, uuid } from "./common.ts";

export const checkpointParams = z.object({ thread_id: uuid, workflow_checkpoint_id: uuid });

const storage = optional(z.string().min(1).max(100));
const workflowId = optional(storableText.min(1).max(500));

export const storageQuery = z.object({ storage });
export const listCheckpointsQuery = z.object({ ...pageQuery, storage, workflow_id: workflowId });

export const createCheckpointBody = bodyOrNone({
  workflow_id: workflowId,
  metadata: optional(jsonObject),
  /** LangGraph's, of which a named one is made; the thread's newest. */
  langgraph_checkpoint_id: optional(uuid),
  storage,
});

export const restoreBody = bodyOrNone({
  /** True, or the id of the thread that is to be made. */
  new_thread: optional(z.union([z.boolean(), uuid])),
  metadata: optional(jsonObject),
  storage,
});
