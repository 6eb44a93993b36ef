// Bodies of the assistant routes.
import { z } from "zod";
import { bodyOrNone, jsonObject, optional, page, sortOrder } from "./common.ts";

export const assistantParams = z.object({ assistant_id: z.string().min(1) });

export const searchAssistantsBody = bodyOrNone({
  graph_id: optional(z.string()),
  name: optional(z.string()),
  metadata: optional(jsonObject),
  ...page,
  sort_by: optional(z.enum(["assistant_id", "graph_id", "created_at", "updated_at", "name"])),
  sort_order: optional(sortOrder),
});
