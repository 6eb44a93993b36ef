// Bodies and queries of the store's routes.
import { z } from "zod";
import { jsonObject, optional, page } from "./common.ts";

const labels = z.array(z.string());
const ttl = z.number().positive();

export const putItemBody = z.looseObject({
  namespace: labels,
  key: z.string(),
  value: jsonObject,
  index: z.union([z.literal(false), z.array(z.string()).max(100)]).nullish(),
  // Null is an answer: the item never expires.
  ttl: ttl.nullish(),
});

export const getItemQuery = z.object({
  namespace: z
    .string()
    .default("")
    .transform((text) => (text === "" ? [] : text.split("."))),
  key: z.string(),
  refresh_ttl: z
    .enum(["true", "false", "1", "0"])
    .transform((text) => text === "true" || text === "1")
    .optional(),
});

export const deleteItemBody = z.looseObject({ namespace: optional(labels), key: z.string() });

export const searchItemsBody = z.looseObject({
  namespace_prefix: labels,
  filter: optional(jsonObject),
  limit: page.limit,
  offset: page.offset,
  query: optional(z.string()),
  refresh_ttl: optional(z.boolean()),
});

export const listNamespacesBody = z.preprocess(
  (body) => body ?? {},
  z.looseObject({
    prefix: optional(labels),
    suffix: optional(labels),
    max_depth: optional(z.number().int().min(1).max(1_000)),
    limit: page.limit,
    offset: page.offset,
  }),
);

// What a request asks for, after the project's rules have had it in hand.
export const askedItem = z.object({ namespace: labels, key: z.string() });
export const askedPut = askedItem.extend({ value: jsonObject });
export const askedSearch = z.object({
  namespace: optional(labels),
  filter: optional(jsonObject),
  limit: page.limit,
  offset: page.offset,
  query: optional(z.string()),
});
export const askedList = z.object({
  namespace: optional(labels),
  suffix: optional(labels),
  max_depth: optional(z.number().int().min(1)),
  limit: page.limit,
  offset: page.offset,
});
