// Bodies of the thread protocol's routes. What a command's params are to be, its answer says.
import { z } from "zod";
import { jsonObject, optional } from "./common.ts";

export const commandBody = z.looseObject({
  id: z.number().int().min(0),
  method: z.string().min(1).max(200),
  params: optional(jsonObject),
});

/** Closed, as the official server's: a filter that is not understood would send too much. */
export const eventsBody = z.strictObject({
  channels: z.array(z.string()),
  namespaces: optional(z.array(z.array(z.string()))),
  depth: optional(z.number().int().min(0)),
  since: optional(z.number().int().min(0)),
});
