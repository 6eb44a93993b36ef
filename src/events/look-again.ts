// Looks again and again for what nobody has told, one look at a time; says once that it cannot, until it can.
import type { Logger } from "pino";

/** How late a reader may be without a wake-up. */
const INTERVAL_MS = 500;

interface LookOptions {
  readonly log: Logger;
  /** What a failed look means. */
  readonly failure: string;
}

/** Looks until the returned function is called. */
export function lookAgain(look: () => Promise<void>, { log, failure }: LookOptions): () => void {
  let isLooking = false;
  let isAway = false;

  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    try {
      await look();
      isAway = false;
    } catch (error) {
      if (!isAway) log.warn(error, failure);
      isAway = true;
    } finally {
      isLooking = false;
    }
  }, INTERVAL_MS);
  return () => clearInterval(timer);
}
