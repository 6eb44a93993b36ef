// Shapes that several routes share. Objects of the wire stay open: a newer client may send more than we know.
import { z } from "zod";

/** What PostgreSQL takes for one: LangGraph's first checkpoints have a variant that RFC 9562 does not know. */
export const uuid = z.guid("Invalid UUID");

/** Of a path or a query, which nobody has looked at as at a body. */
export const storableText = z
  .string()
  .refine(
    (text) => !text.includes("\0") && text.isWellFormed(),
    "has a character that PostgreSQL cannot store",
  );

export const threadParams = z.object({ thread_id: uuid });
export const runParams = z.object({ thread_id: uuid, run_id: uuid });

export const jsonObject = z.record(z.string(), z.unknown());

/** A flag in a query: absent, empty, "0" and "false" are false (the SDK sends 0 and 1). */
export const flag = z
  .enum(["", "0", "1", "true", "false", "yes", "no"])
  .default("")
  .transform((text) => text === "1" || text === "true" || text === "yes");

const limit = z.number().int().min(1).max(1000);
const offset = z.number().int().min(0).max(1_000_000_000);
const orElse = (schema: z.ZodNumber, value: number) =>
  schema
    .nullable()
    .default(value)
    .transform((given) => given ?? value);

export const page = { limit: orElse(limit, 10), offset: orElse(offset, 0) };

/** The same in a query, where numbers are texts. */
export const pageQuery = {
  limit: z.coerce.number().pipe(limit).default(10),
  offset: z.coerce.number().pipe(offset).default(0),
};

export const sortOrder = z.enum(["asc", "desc"]).default("desc");

/** The SDK sends null for what the caller left out. */
export const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);

/** A body that may be left out. */
export const bodyOrNone = <T extends z.ZodRawShape>(shape: T) =>
  z.preprocess((body) => body ?? {}, z.looseObject(shape));

export const checkpoint = z.looseObject({
  checkpoint_id: optional(uuid),
  checkpoint_ns: optional(z.string()),
  checkpoint_map: optional(jsonObject),
});

/** Of a query: once, or several times. */
export const repeated = <T extends z.ZodType>(schema: T) =>
  z.preprocess((value) => (value === undefined ? undefined : [value].flat()), z.array(schema).optional());
