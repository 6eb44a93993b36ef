// The runs of a thread in the order of its stream, as long as somebody reads: those that are there, and those to come.
import type { Database } from "../db/database.ts";
import type { Scope } from "../db/scope.ts";
import { hasEnded, selectLastSeq } from "./event-log.sql.ts";
import type { Hub } from "./hub.ts";
import {
  type StreamedRunRow,
  selectRunEnd,
  selectStreamedRuns,
  selectThreadVersions,
} from "./thread-runs.sql.ts";

interface WalkDeps {
  readonly db: Database;
  /** Wakes those who wait for a thread's next run. */
  readonly threadHub: Hub;
}

interface WalkOptions {
  /** What limits the caller to some threads. A thread out of it has no runs, as one that is not there. */
  readonly scope: Scope;
  /** The last number that the reader has; -1: none. */
  readonly since: number;
  /** The last number that the reader wants; without it, he stays for runs to come. */
  readonly through?: number | undefined;
  /** Whether it is over when the thread is gone; otherwise it may still come. */
  readonly untilGone?: boolean;
  readonly signal: AbortSignal;
}

/** A run that somebody has started: it has a place in the thread's stream. */
export type PlacedRun = StreamedRunRow & { readonly stream_base: number };

const isPlaced = (run: StreamedRunRow): run is PlacedRun => run.stream_base !== null;

/** Yields each run that may have something after `since`, once, in order. Returns when `signal` aborts. */
export async function* walkRuns(
  { db, threadHub }: WalkDeps,
  threadId: string,
  { scope, since, through = Number.POSITIVE_INFINITY, untilGone = false, signal }: WalkOptions,
): AsyncGenerator<PlacedRun> {
  const news = threadHub.subscribe(threadId);
  let last = -1;
  /** The smallest run_number that is of interest; a run that starts late comes after others with higher ones. */
  let from = 0;
  try {
    while (!signal.aborted) {
      news.take();
      const runs = await selectStreamedRuns(db, { threadId, scope, from });
      const placed = runs.filter(isPlaced).filter((run) => run.stream_base > last);
      const run = placed.findLast((run) => run.stream_base <= since) ?? placed[0];
      if (run && run.stream_base <= through) {
        yield run;
        last = run.stream_base;
        const later = runs.filter(({ stream_base }) => stream_base === null || stream_base > last);
        from = Math.min(run.run_number + 1, ...later.map(({ run_number }) => run_number));
        continue;
      }
      if (through < Number.POSITIVE_INFINITY) return;
      if (untilGone && (await selectThreadVersions(db, [threadId])).length === 0) return;
      await news.changed(signal);
    }
  } finally {
    news.close();
  }
}

/**
 * The place of the newest event in the thread's stream, -1 when there is none; of a run that has ended, that of its end,
 * which comes after its events. What has begun and not ended will send more.
 */
export async function findNewest(db: Database, threadId: string, scope: Scope): Promise<number> {
  const placed = (await selectStreamedRuns(db, { threadId, scope, from: 0 })).filter(isPlaced);
  const newest = placed.at(-1);
  if (!newest) return -1;
  const [run] = await selectRunEnd(db, newest.run_id);
  const last = newest.stream_base + (await selectLastSeq(db, newest.run_id));
  return !run || hasEnded(run.status) ? last + 1 : last;
}
