// The joined stream of a thread, for clients of the older protocol: the events of its runs as each run has sent them, one
// run after the other, as long as somebody reads. Their ids are the thread's: they grow from run to run.
import type { Scope } from "../db/scope.ts";
import { selectLastSeq } from "../events/event-log.sql.ts";
import { type FollowedEvent, follow } from "../events/follow.ts";
import { findNewest, type PlacedRun, walkRuns } from "../events/thread-runs.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { FollowThreadDeps } from "./follow-thread.ts";

/** `run_modes`: all that the runs send. `lifecycle`: that they begin and end. Both: `run_modes`. */
type ThreadStreamMode = "run_modes" | "lifecycle" | "state_update";

interface JoinOptions {
  /** What limits the caller to some threads. */
  readonly scope: Scope;
  readonly modes: readonly ThreadStreamMode[];
  /** The last id that the reader has; -1 is the start, undefined: only what comes from now on. */
  readonly since: number | undefined;
  readonly signal: AbortSignal;
}

/** Yields each event once, in order. Returns when `signal` aborts or the thread is gone. */
export async function* joinThread(
  deps: FollowThreadDeps,
  threadId: string,
  options: JoinOptions,
): AsyncGenerator<readonly FollowedEvent[]> {
  const { scope, modes, signal } = options;
  const isWanted = toCondition(modes);
  const since = options.since ?? (await findNewest(deps.db, threadId, scope));
  for await (const run of walkRuns(deps, threadId, { scope, since, untilGone: true, signal })) {
    for await (const page of eventsOf(deps, run, since, options)) {
      const wanted = page.filter(isWanted);
      if (wanted.length > 0) yield wanted;
    }
  }
}

function toCondition(modes: readonly ThreadStreamMode[]): (event: FollowedEvent) => boolean {
  if (modes.includes("run_modes")) return () => true;
  // A run's beginning and its end are the `metadata` events.
  return ({ event }) => modes.includes("lifecycle") && event === "metadata";
}

/** The events of a run after `since`, and that it is done. */
async function* eventsOf(
  deps: FollowThreadDeps,
  { run_id, stream_base: base }: PlacedRun,
  since: number,
  { modes, signal }: JoinOptions,
): AsyncGenerator<readonly FollowedEvent[]> {
  const after = Math.min(Math.max(since - base, -1), await selectLastSeq(deps.db, run_id));
  const withoutStates = !modes.includes("run_modes");
  for await (const page of follow(deps, run_id, { after, withoutStates, signal })) {
    // Of a run whose events are deleted, only who has begun to read it is told so.
    yield page.flatMap((event): FollowedEvent[] =>
      event.seq !== undefined ? [{ ...event, seq: base + event.seq }] : since >= base ? [event] : [],
    );
  }
  if (signal.aborted) return;
  const done = base + (await selectLastSeq(deps.db, run_id)) + 1;
  if (done > since) {
    yield [{ seq: done, event: "metadata", data: toWireJson({ status: "run_done", run_id }) }];
  }
}
