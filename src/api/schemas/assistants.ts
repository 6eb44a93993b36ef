// Bodies and queries of the assistant routes.
import { z } from "zod";
import { bodyOrNone, flag, jsonObject, optional, page, sortOrder, uuid } from "./common.ts";

export const assistantParams = z.object({ assistant_id: z.string().min(1) });
export const subgraphParams = assistantParams.extend({ namespace: z.string().min(1) });

const config = z.looseObject({
  tags: optional(z.array(z.string())),
  recursion_limit: optional(z.number().int().min(1)),
  configurable: optional(jsonObject),
});

export const createAssistantBody = z.looseObject({
  assistant_id: optional(uuid),
  graph_id: z.string().min(1),
  name: optional(z.string()),
  description: optional(z.string()),
  config: optional(config),
  context: optional(jsonObject),
  metadata: optional(jsonObject),
  if_exists: optional(z.enum(["raise", "do_nothing"])),
});

export const patchAssistantBody = bodyOrNone({
  graph_id: optional(z.string().min(1)),
  name: optional(z.string()),
  description: optional(z.string()),
  config: optional(config),
  context: optional(jsonObject),
  metadata: optional(jsonObject),
});

const filter = {
  graph_id: optional(z.string()),
  name: optional(z.string()),
  metadata: optional(jsonObject),
};

const fields = z.enum([
  "assistant_id",
  "graph_id",
  "name",
  "description",
  "config",
  "context",
  "metadata",
  "version",
  "created_at",
  "updated_at",
]);

export const searchAssistantsBody = bodyOrNone({
  ...filter,
  ...page,
  sort_by: optional(z.enum(["assistant_id", "graph_id", "created_at", "updated_at", "name"])),
  sort_order: optional(sortOrder),
  select: optional(z.array(fields)),
});

export const countAssistantsBody = bodyOrNone(filter);

export const deleteAssistantQuery = z.object({ delete_threads: flag });

/** How deep subgraphs are drawn: all of them, none, or to a depth. */
export const graphQuery = z.object({
  xray: z
    .string()
    .regex(/^(|true|yes|false|no|\d{1,6})$/i, "must be true, false or a depth")
    .default("")
    .transform((text) => (/^(true|yes)$/i.test(text) ? true : Number(text) || false)),
});

export const subgraphsQuery = z.object({ recurse: flag });

export const versionsBody = bodyOrNone({ metadata: optional(jsonObject), ...page });

export const latestBody = z.looseObject({ version: z.number().int().min(1).max(2_147_483_647) });
