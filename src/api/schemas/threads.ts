// Bodies and queries of the thread routes.
import { z } from "zod";
import { graphInput, nodeName } from "../../runs/graph-input.ts";
import { toPath } from "../../threads/extract.ts";
import {
  bodyOrNone,
  checkpoint,
  flag,
  jsonObject,
  optional,
  page,
  pageQuery,
  sortOrder,
  uuid,
} from "./common.ts";
import { command } from "./runs.ts";

const strategy = z.enum(["delete", "keep_latest"]).default("delete");
const minutes = z.number().positive().max(52_560_000);

/** Minutes since the thread's last activity. */
const ttl = z
  .union([
    minutes.transform((ttl) => ({ ttl, strategy: "delete" as const })),
    z.looseObject({ ttl: minutes, strategy: optional(strategy) }),
  ])
  .transform(({ ttl, strategy = "delete" }) => ({ minutes: ttl, strategy }));

const superstep = z.looseObject({
  updates: z
    .array(
      z.looseObject({
        values: graphInput.optional(),
        command: optional(command),
        as_node: nodeName.min(1),
      }),
    )
    .min(1),
});

export const createThreadBody = bodyOrNone({
  thread_id: optional(uuid),
  metadata: optional(jsonObject),
  if_exists: optional(z.enum(["raise", "do_nothing"])),
  supersteps: optional(z.array(superstep).max(1_000)),
  ttl: optional(ttl),
});

export const patchThreadBody = bodyOrNone({ metadata: optional(jsonObject), ttl: optional(ttl) });

/** One value, or the key again and again. */
const list = <T extends z.ZodType>(item: T) =>
  optional(z.preprocess((value) => (typeof value === "string" ? [value] : value), z.array(item)));

export const includeQuery = z.object({ include: list(z.string()) });

const filter = {
  metadata: optional(jsonObject),
  ids: optional(z.array(uuid).max(1000)),
  status: optional(z.enum(["idle", "busy", "interrupted", "error"])),
  values: optional(jsonObject),
};

export const countThreadsBody = bodyOrNone(filter);

const path = z.string().transform((text, context) => {
  const found = toPath(text);
  if (found) return found;
  context.addIssue(`"${text}" is no path. It looks like "values.messages[-1].content".`);
  return z.NEVER;
});

export const searchThreadsBody = bodyOrNone({
  ...filter,
  ...page,
  sort_by: optional(z.enum(["thread_id", "status", "created_at", "updated_at", "state_updated_at"])),
  sort_order: optional(sortOrder),
  select: optional(z.array(z.string())),
  extract: optional(z.record(z.string(), path)),
});

export const pruneBody = z.looseObject({
  thread_ids: z.array(uuid).max(1000),
  strategy: optional(strategy),
});

const stateField = z
  .string()
  .regex(
    /^(values|next|tasks|checkpoint|metadata|created_at|parent_checkpoint|interrupts|values\..+)$/s,
    "No such field of a state.",
  );
const select = list(stateField);

export const stateQuery = z.object({ subgraphs: flag, select });

export const stateAtBody = bodyOrNone({
  checkpoint: optional(checkpoint),
  subgraphs: optional(z.union([z.boolean(), flag])),
  select,
});

export const checkpointParams = z.object({ thread_id: uuid, checkpoint_id: uuid });

export const updateStateBody = bodyOrNone({
  values: graphInput.optional(),
  as_node: optional(nodeName),
  checkpoint_id: optional(uuid),
  checkpoint: optional(checkpoint),
});

export const patchStateBody = z.looseObject({ metadata: jsonObject });

// The SDK's type is a config object, the dev server takes a string: both name a checkpoint.
const before = z.union([
  uuid,
  z.looseObject({ checkpoint_id: uuid }).transform((value) => value.checkpoint_id),
  z
    .looseObject({ configurable: z.looseObject({ checkpoint_id: uuid }) })
    .transform((value) => value.configurable.checkpoint_id),
]);

export const historyBody = bodyOrNone({
  limit: page.limit,
  before: optional(before),
  metadata: optional(jsonObject),
  checkpoint: optional(checkpoint),
  select,
});

export const historyQuery = z.object({ limit: pageQuery.limit, before: optional(uuid), select });
