// Bodies and queries of the thread routes.
import { z } from "zod";
import { bodyOrNone, checkpoint, flag, graphInput, jsonObject, optional, page, sortOrder } from "./common.ts";

export const createThreadBody = bodyOrNone({
  thread_id: optional(z.uuid()),
  metadata: optional(jsonObject),
  if_exists: optional(z.enum(["raise", "do_nothing"])),
});

export const patchThreadBody = bodyOrNone({ metadata: optional(jsonObject) });

export const searchThreadsBody = bodyOrNone({
  metadata: optional(jsonObject),
  ids: optional(z.array(z.uuid()).max(1000)),
  status: optional(z.enum(["idle", "busy", "interrupted", "error"])),
  ...page,
  sort_by: optional(z.enum(["thread_id", "status", "created_at", "updated_at"])),
  sort_order: optional(sortOrder),
  select: optional(z.array(z.string())),
});

export const stateQuery = z.object({ subgraphs: flag });

export const stateAtBody = z.looseObject({ checkpoint, subgraphs: optional(z.boolean()) });

export const checkpointParams = z.object({ thread_id: z.uuid(), checkpoint_id: z.uuid() });

export const updateStateBody = z.looseObject({
  values: graphInput.optional(),
  as_node: optional(z.string()),
  checkpoint_id: optional(z.uuid()),
  checkpoint: optional(checkpoint),
});

// The SDK's type is a config object, the dev server takes a string: both name a checkpoint.
const before = z.union([
  z.uuid(),
  z.looseObject({ checkpoint_id: z.uuid() }).transform((value) => value.checkpoint_id),
  z
    .looseObject({ configurable: z.looseObject({ checkpoint_id: z.uuid() }) })
    .transform((value) => value.configurable.checkpoint_id),
]);

export const historyBody = bodyOrNone({
  limit: page.limit,
  before: optional(before),
  metadata: optional(jsonObject),
  checkpoint: optional(checkpoint),
});

export const historyQuery = z.object({ limit: page.limit, before: optional(z.uuid()) });
