// I3, I6 and I10: who ran what, and when.
import type { Evidence } from "../check.ts";
import type { RunChange } from "../contents.ts";
import { isFault } from "../history.ts";

export function* executions({ contents, entries }: Evidence): Iterable<string> {
  // On a starved machine a lease may run out; one that is not kept at all is another thing.
  const again = contents.runs.reduce((sum, { attempt }) => sum + Math.max(attempt - 1, 0), 0);
  if (!entries.some(isFault) && again > 2 + contents.runs.length / 2)
    yield `${contents.runs.length} runs were taken over ${again} times, though no server failed`;
  for (const write of contents.staleWrites)
    yield `${write.what} by ${write.writer || "somebody"} on ${write.thread_id}: ${write.detail}`;
  /** Runs of a thread that are running now, and until when their leases last. */
  const running = new Map<string, Map<string, number>>();
  const tokens = new Map<string, number>();
  const started = new Map<string, number>();
  const numbers = new Map(contents.runs.map((run) => [run.run_id, run.run_number]));
  for (const change of contents.changes) {
    const now = running.get(change.thread_id) ?? new Map<string, number>();
    running.set(change.thread_id, now);
    const isClaim = change.new_status === "running" && change.new_token !== change.old_token;
    if (isClaim) {
      for (const [run, until] of now) {
        if (until > change.at)
          yield `run ${change.run_id} was started while run ${run} of its thread had a lease`;
      }
      const token = change.new_token ?? 0;
      if (token <= (tokens.get(change.thread_id) ?? 0))
        yield `token ${token} of ${change.thread_id} did not grow`;
      tokens.set(change.thread_id, token);
      // First starts are in the order of acknowledgement.
      const number = numbers.get(change.run_id) ?? 0;
      if (change.old_token === null) {
        if (number > 0 && number < (started.get(change.thread_id) ?? 0))
          yield `run ${change.run_id} was started after a later one of its thread`;
        started.set(change.thread_id, Math.max(number, started.get(change.thread_id) ?? 0));
      }
    }
    if (change.kind === "update" && change.old_status === "running" && change.new_status !== "running") {
      if (change.writer !== change.old_owner && change.writer !== "")
        yield `run ${change.run_id} of ${change.old_owner} was made ${change.new_status} by ${change.writer}`;
    }
    if (change.new_status === "running") now.set(change.run_id, change.new_until ?? 0);
    else now.delete(change.run_id);
  }
}

/** From the end of a lease to the next start. What is aimed at is 2 s; this tells a run that is stuck from a busy machine. */
const RECOVERY_MS = 10_000;

/** Milliseconds from the end of each lease that ran out to the next start of its run. */
export const takeovers = (changes: readonly RunChange[]) =>
  changes.flatMap(({ old_status, new_status, old_token, new_token, old_until, at, run_id }) =>
    old_status === "running" && new_status === "running" && new_token !== old_token && old_until !== null
      ? [{ run_id, until: old_until, at, late: at - old_until }]
      : [],
  );

export function* recovery({ contents, entries }: Evidence): Iterable<string> {
  const outages = entries.flatMap((entry) => (entry.op === "outage" ? [entry] : []));
  for (const { run_id, until, at, late } of takeovers(contents.changes)) {
    const wasOut = outages.some((outage) => outage.from < at && outage.to + RECOVERY_MS > until);
    if (late > RECOVERY_MS && !wasOut)
      yield `run ${run_id} was taken over ${Math.round(late)} ms after its lease`;
  }
}

export function* sideEffects({ contents, entries }: Evidence): Iterable<string> {
  const attempts = new Map(contents.runs.map((run) => [run.run_id, run.attempt]));
  const effects = Map.groupBy(
    entries.flatMap((entry) => (entry.op === "effect" ? [entry] : [])),
    (effect) => effect.run,
  );
  for (const [run, seen] of effects) {
    const allowed = attempts.get(run);
    if (allowed !== undefined && seen.length > allowed)
      yield `run ${run} had ${seen.length} effects in ${allowed} attempts`;
  }
}
