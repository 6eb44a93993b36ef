// Looks for messages where there should be only data.
import { BaseMessage } from "@langchain/core/messages";

/** Where in the value, itself or anything below it, there is an instance of a message. */
export function liveMessages(value: unknown, place: string): string[] {
  if (typeof value !== "object" || value === null) return [];
  const below = Object.entries(value).flatMap(([key, child]) => liveMessages(child, `${place}.${key}`));
  return value instanceof BaseMessage ? [place, ...below] : below;
}
