// When a checkpoint was made: its id, a UUID of version 6, says it.

const ID = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/;
/** Milliseconds from the beginning of the Gregorian calendar, where such ids count from, to 1970. */
const GREGORIAN_MS = 12_219_292_800_000;

/**
 * Milliseconds since 1970, rounded up: the checkpoint's own time stamp is taken a moment after its id. 0 when the id is
 * of another kind.
 */
export function toCheckpointTime(id: string): number {
  const [, high, middle, low] = ID.exec(id) ?? [];
  if (high === undefined || middle === undefined || low === undefined) return 0;
  const ticks = BigInt(`0x${high}${middle}${low}`);
  return Number(ticks / 10_000n) - GREGORIAN_MS + 1;
}
