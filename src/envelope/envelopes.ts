// Envelopes of the runs of this server, read from the log by whichever server is asked: of one run, or of all of a thread.
import type { Scope } from "../db/scope.ts";
import { hasEnded } from "../events/event-log.sql.ts";
import { type FollowDeps, follow } from "../events/follow.ts";
import type { Hub } from "../events/hub.ts";
import { selectRunEnd } from "../events/thread-runs.sql.ts";
import { findNewest, walkRuns } from "../events/thread-runs.ts";
import { type Cursor, comparePositions, type Placed, type Sent } from "./joiner.ts";
import { type LoggedRunRow, selectLoggedRun } from "./logged-run.sql.ts";
import { createLogRenderer, createStateFilter, type LoggedRun } from "./render-log.ts";
import type { Terminal } from "./run-calls.ts";
import { sample } from "./sampler.ts";
import type { Profile } from "./schema.ts";

export interface ReadOptions {
  readonly profile: Profile;
  /** How far the reader is; from the start without it. */
  readonly cursor?: Cursor | undefined;
  /** To be kept, and not watched: the same to everybody, and of a thread what there is now. */
  readonly isDownload: boolean;
  readonly signal: AbortSignal;
}

export interface Envelopes {
  /** In order, in pages as they come, to the run's end. */
  ofRun(runId: string, options: ReadOptions): AsyncGenerator<readonly Sent[]>;
  /** One run after the other, until the thread is gone, or `signal` aborts; a download ends with what there is. */
  ofThread(
    threadId: string,
    options: ReadOptions & { readonly scope: Scope },
  ): AsyncGenerator<readonly Sent[]>;
}

interface EnvelopesOptions extends FollowDeps {
  /** Wakes those who wait for a thread's next run. */
  readonly threadHub: Hub;
  /** Milliseconds for which tokens and updates are joined. */
  readonly windowMs: number;
}

export function createEnvelopes(deps: EnvelopesOptions): Envelopes {
  const { windowMs } = deps;
  const sampled = (pages: AsyncIterable<readonly Placed[]>, { profile, cursor, isDownload }: ReadOptions) =>
    sample(pages, { profile, windowMs: isDownload ? undefined : windowMs, resume: cursor });

  return {
    ofRun: (runId, options) => sampled(ofRun(deps, runId, options), options),
    ofThread: (threadId, options) => sampled(ofThread(deps, threadId, options), options),
  };
}

async function* ofThread(
  deps: EnvelopesOptions,
  threadId: string,
  options: ReadOptions & { readonly scope: Scope },
): AsyncGenerator<readonly Placed[]> {
  const { scope, cursor, isDownload, signal } = options;
  const since = (cursor?.from ?? cursor?.to)?.place ?? -1;
  const now = await findNewest(deps.db, threadId, scope);
  const through = isDownload ? now : undefined;
  for await (const run of walkRuns(deps, threadId, { scope, since, through, untilGone: true, signal })) {
    yield* ofRun(deps, run.run_id, { ...options, placed: { base: run.stream_base, now } });
  }
}

interface RunOptions extends ReadOptions {
  /** Its place in its thread's stream, and the newest place of that when the reader came. */
  readonly placed?: { readonly base: number; readonly now: number };
}

async function* ofRun(
  deps: EnvelopesOptions,
  runId: string,
  { cursor, isDownload, placed, signal }: RunOptions,
): AsyncGenerator<readonly Placed[]> {
  const [arrived] = await selectLoggedRun(deps.db, runId);
  if (!arrived) return;
  const isOver = hasEnded(arrived.status);
  const { base, now } = placed ?? { base: 0, now: isOver ? arrived.last + 1 : arrived.last };
  /** Of a thread, what is kept is what there is now; of a run, all of it. */
  const stopsAt = placed && isDownload ? now : Number.POSITIVE_INFINITY;
  const isNew = toCondition(cursor);
  const start = async () => {
    const started = arrived.stream_base === null ? (await selectLoggedRun(deps.db, runId))[0] : arrived;
    const originOf = (place: number) => (isDownload || place <= now ? "replay" : "live");
    return createLogRenderer({ ...toLoggedRun(started ?? arrived), base, originOf });
  };

  let renderer: ReturnType<typeof createLogRenderer> | undefined;
  let last = -1;
  const withoutStates = createStateFilter();
  for await (const page of follow(deps, runId, { after: -1, withoutStates, signal })) {
    renderer ??= await start();
    for (const event of page) {
      if (event.seq === undefined) {
        yield renderer.expire(event);
        return;
      }
      last = event.seq;
    }
    const known = page.filter(({ seq = 0 }) => base + seq <= stopsAt);
    yield known.flatMap(renderer.render).filter(isNew);
    if (base + last >= stopsAt) return;
  }
  if (signal.aborted) return;
  renderer ??= await start();
  const [ended] = await selectRunEnd(deps.db, runId);
  yield renderer.end(toTerminal(ended)).filter(isNew);
}

/** What a reader at a cursor does not have yet; of what was joined all, the joiner leaves out what he has. */
function toCondition(cursor: Cursor | undefined): (placed: Placed) => boolean {
  if (!cursor) return () => true;
  const { from, to } = cursor;
  return (placed) => (from ? comparePositions(placed, from) >= 0 : comparePositions(placed, to) > 0);
}

function toLoggedRun(row: LoggedRunRow): Omit<LoggedRun, "base" | "originOf"> {
  const { run_id, graph_id, started_at, input, command, stream_mode, stream_subgraphs } = row;
  return {
    runId: run_id,
    graphName: graph_id ?? "graph",
    startedAt: started_at ?? 0,
    input: input ?? (command ? { command } : null),
    isResumed: input === null || command?.resume !== undefined,
    modes: stream_mode,
    withSubgraphs: stream_subgraphs,
  };
}

/** A run that is gone was rolled back, or deleted. */
function toTerminal(
  run: { status: string; error: { error?: string; message?: string } | null } | undefined,
): Terminal {
  const { error } = run ?? {};
  switch (run?.status) {
    case "success":
      return { status: "success" };
    case "error":
    case "timeout":
      return { status: "error", error: { name: error?.error ?? "Error", message: error?.message ?? "" } };
    default:
      return { status: "cancelled" };
  }
}
