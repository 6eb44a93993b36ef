// Shapes that several routes share. Objects of the wire stay open: a newer client may send more than we know.
import { z } from "zod";

export const threadParams = z.object({ thread_id: z.uuid() });
export const runParams = z.object({ thread_id: z.uuid(), run_id: z.uuid() });

export const jsonObject = z.record(z.string(), z.unknown());

/** A flag in a query: absent, empty, "0" and "false" are false (the SDK sends 0 and 1). */
export const flag = z
  .enum(["", "0", "1", "true", "false", "yes", "no"])
  .default("")
  .transform((text) => text === "1" || text === "true" || text === "yes");

export const page = {
  limit: z.coerce.number().int().min(1).max(1000).default(10),
  offset: z.coerce.number().int().min(0).max(1_000_000_000).default(0),
};

export const sortOrder = z.enum(["asc", "desc"]).default("desc");

/** The SDK sends null for what the caller left out. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);

/** A body that may be left out. */
export const bodyOrNone = <T extends z.ZodRawShape>(shape: T) =>
  z.preprocess((body) => body ?? {}, z.looseObject(shape));

export const checkpoint = z.looseObject({
  checkpoint_id: optional(z.uuid()),
  checkpoint_ns: optional(z.string()),
  checkpoint_map: optional(jsonObject),
});

/**
 * What goes into a graph's state. LangGraph takes an object, or one of a list, that names itself a Command for a
 * command: data must not do what only `command` is for.
 */
export const graphInput = z
  .unknown()
  .refine(
    (input) => ![input].flat().some((item) => isObject(item) && item.lg_name === "Command"),
    'An object with lg_name "Command" is no input. Send a command as `command`.',
  );

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
