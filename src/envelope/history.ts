// What is known of a graph while its run is read: where it is among its checkpoints, and what waits to be told.
import { isFields } from "../events/fields.ts";
import type { Chunk } from "./chunk.ts";

export interface History {
  /** The checkpoint of the state that comes next. */
  place: string | undefined;
  last: string | undefined;
  /** Nodes that have ended since. */
  ran: string[];
  /** Its first state, until something else of it is heard. */
  first: Chunk | undefined;
  /** Checkpoints that wait with it. */
  held: { readonly place: string; readonly digest: string | null }[];
  hasState: boolean;
  /** Checkpoints in this attempt. */
  count: number;
  /** The checkpoint that it goes on from, until it is known what goes on. */
  resumedAt: string | undefined;
}

export const toHistory = (): History => ({
  place: undefined,
  last: undefined,
  ran: [],
  first: undefined,
  held: [],
  hasState: false,
  count: 0,
  resumedAt: undefined,
});

/** `{ id, step, … }` of a state that follows; of a whole checkpoint, its configuration says its id. */
export function toPlace(data: unknown): { readonly id: string; readonly isWhole: boolean } | undefined {
  if (!isFields(data)) return undefined;
  const { id, config } = data;
  if (typeof id === "string") return { id, isWhole: false };
  const configurable: unknown = isFields(config) ? config.configurable : undefined;
  const whole = isFields(configurable) ? configurable.checkpoint_id : undefined;
  return typeof whole === "string" ? { id: whole, isWhole: true } : undefined;
}
