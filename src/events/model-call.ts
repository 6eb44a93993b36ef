// What a model's chunks say of its call, whatever the provider: which model, what it has used, why it stopped.
import { type Fields, isFields } from "./fields.ts";

/** Counts of chunks add up, at any depth. */
export const addUsage = (left: Fields, right: Fields): Fields => ({
  ...left,
  ...Object.fromEntries(
    Object.entries(right).map(([key, value]) => {
      const before = left[key];
      if (typeof value === "number" && typeof before === "number") return [key, before + value];
      return [key, isFields(value) && isFields(before) ? addUsage(before, value) : value];
    }),
  ),
});

/** Why a model stopped, of its `response_metadata`. */
export function toFinishReason({ finish_reason, stop_reason }: Fields): string | undefined {
  const reason = finish_reason ?? stop_reason;
  return typeof reason === "string" ? reason : undefined;
}
