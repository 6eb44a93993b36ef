// Looks after the readers whom nobody has told anything: one statement for all runs that are read here. This is what the
// promises rest on; memory and wake-ups only make it faster.
import type { Logger } from "pino";
import type { Database } from "../db/database.ts";
import { hasEnded, selectLogEnds } from "./event-log.sql.ts";
import type { Hub } from "./hub.ts";
import { lookAgain } from "./look-again.ts";

/** Looks until readers are announced again: a run's worker forgets them after 15 seconds. */
const ANNOUNCE_EVERY = 10;

interface PollOptions {
  readonly db: Database;
  readonly hub: Hub;
  readonly log: Logger;
  /** Tells the server that runs the run that somebody reads it here. */
  readonly announce: (runId: string) => void;
}

/** Polls until the returned function is called. */
export function startPolling({ db, hub, log, announce }: PollOptions): () => void {
  const announced = new Map<string, number>();
  let looks = 0;

  const look = async () => {
    const runIds = hub.runIds();
    looks++;
    for (const runId of announced.keys()) if (!runIds.includes(runId)) announced.delete(runId);
    if (runIds.length === 0) return;
    const ends = new Map((await selectLogEnds(db, runIds)).map((row) => [row.run_id, row]));
    for (const runId of runIds) {
      const end = ends.get(runId);
      hub.report(runId, end?.last ?? -1, !end || hasEnded(end.status));
      if (looks - (announced.get(runId) ?? Number.NEGATIVE_INFINITY) < ANNOUNCE_EVERY) continue;
      announced.set(runId, looks);
      announce(runId);
    }
  };

  return lookAgain(look, { log, failure: "the event log cannot be read: readers wait" });
}
