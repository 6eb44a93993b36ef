// What the profile `user` leaves out of a payload: stacks, what only debugging needs, the ends of long texts.
import type { Envelope } from "./schema.ts";

/** Characters of one text, and entries of one list or object, that a reader of `user` gets. */
const MAX_TEXT = 4_096;
const MAX_ENTRIES = 200;

const HIDDEN: ReadonlySet<string> = new Set(["stack", "tool_call_chunks"]);

/** Never changes the envelope; gives it back as it is when there is nothing to leave out. */
export function trim(envelope: Envelope): Envelope {
  const shown = Object.entries(envelope.payload).filter(([key]) => !HIDDEN.has(key));
  // What a model says is read whole.
  if (envelope.type === "llm_token") return { ...envelope, payload: Object.fromEntries(shown) };
  const payload = Object.fromEntries(shown.map(([key, value]) => [key, cut(value)]));
  return { ...envelope, payload };
}

function cut(value: unknown): unknown {
  if (typeof value === "string") {
    const more = value.length - MAX_TEXT;
    return more > 0 ? `${value.slice(0, MAX_TEXT).toWellFormed()}… (${more} more characters)` : value;
  }
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) {
    const more = value.length - MAX_ENTRIES;
    const shown = value.slice(0, MAX_ENTRIES).map(cut);
    return more > 0 ? [...shown, `… (${more} more)`] : shown;
  }
  const entries = Object.entries(value);
  const more = entries.length - MAX_ENTRIES;
  const shown = entries.slice(0, MAX_ENTRIES).map(([key, item]) => [key, cut(item)] as const);
  return Object.fromEntries(more > 0 ? [...shown, ["…", `${more} more`]] : shown);
}
