// Reads the frames of a thread from any point on: run after run, as long as somebody wants them. Each run is rendered from
// its events in the log, by whichever server reads it.
import type { Scope } from "../db/scope.ts";
import { type FollowDeps, follow } from "../events/follow.ts";
import type { Hub } from "../events/hub.ts";
import { selectRunEnd } from "../events/thread-runs.sql.ts";
import { type PlacedRun, walkRuns } from "../events/thread-runs.ts";
import type { Frame } from "./frame.ts";
import { createRunRenderer, type RenderedRun, type Terminal } from "./render-run.ts";

export interface FollowThreadDeps extends FollowDeps {
  /** Wakes those who wait for a thread's next run. */
  readonly threadHub: Hub;
}

export interface FollowThreadOptions {
  /** What limits the caller to some threads. A thread out of it has no runs, as one that is not there. */
  readonly scope: Scope;
  /** The last number that the reader has. */
  readonly since?: number | undefined;
  /** The last number that the reader wants; without it, he stays for runs to come. */
  readonly through?: number | undefined;
  /** Nobody reads the states: they need not be rebuilt. */
  readonly withoutStates: boolean;
  readonly signal: AbortSignal;
}

/** Yields each frame once, in order, in pages as they come. Returns when `signal` aborts, or after `through`. */
export async function* followThread(
  deps: FollowThreadDeps,
  threadId: string,
  options: FollowThreadOptions,
): AsyncGenerator<readonly Frame[]> {
  const { scope, since = -1, through = Number.POSITIVE_INFINITY, signal } = options;
  for await (const run of walkRuns(deps, threadId, { scope, since, through, signal })) {
    for await (const page of framesOf(deps, run, options)) {
      const wanted = page.filter(({ seq }) => seq > since && seq <= through);
      if (wanted.length > 0) yield wanted;
      if ((page.at(-1)?.seq ?? -1) >= through) return;
    }
  }
}

async function* framesOf(
  deps: FollowThreadDeps,
  run: PlacedRun,
  { withoutStates, signal }: FollowThreadOptions,
): AsyncGenerator<readonly Frame[]> {
  const renderer = createRunRenderer(toRenderedRun(run));
  let isExpired = false;
  for await (const page of follow(deps, run.run_id, { after: -1, withoutStates, signal })) {
    isExpired ||= page.some(({ seq }) => seq === undefined);
    yield page.flatMap((event) => renderer.render(event));
  }
  if (signal.aborted) return;
  const [ended] = await selectRunEnd(deps.db, run.run_id);
  yield renderer.end(toTerminal(ended), isExpired);
}

export const toRenderedRun = (run: PlacedRun): RenderedRun => ({
  runId: run.run_id,
  graphName: run.graph_id ?? "root",
  base: run.stream_base,
  startedAt: run.started_at,
  answers: toAnswers(run.resume),
});

/** LangGraph takes an object for answers by interrupt when all its keys look like ids of interrupts. */
export function toAnswers(resume: unknown): string[] {
  const ids = typeof resume === "object" && resume !== null ? Object.keys(resume) : [];
  return ids.every((id) => /^[0-9a-f]{32}$/.test(id)) ? ids : [];
}

/** A run that is gone was rolled back, or deleted. */
export function toTerminal(
  run: { status: string; error: Readonly<Record<string, unknown>> | null } | undefined,
): Terminal {
  switch (run?.status) {
    case "success":
      return { status: "completed" };
    case "error":
    case "timeout": {
      const { message, reason, interrupt_ids, pending_ids } = run.error ?? {};
      return {
        status: "failed",
        error: typeof message === "string" ? message : "The run has failed.",
        ...(typeof reason === "string" ? { refusal: { reason, interrupt_ids, pending_ids } } : {}),
      };
    }
    default:
      return { status: "interrupted" };
  }
}
