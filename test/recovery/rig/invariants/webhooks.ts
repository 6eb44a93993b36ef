// I12: webhooks, as their receiver got them.
import type { Evidence } from "../check.ts";
import type { Entry } from "../history.ts";

type Arrival = Extract<Entry, { op: "webhook" }>;

/** Before it is tried again: this, doubled with each attempt, by half of which it may be less. */
const RETRY_MS = 5_000;
/** Clocks are read on both sides of a connection. */
const SLACK_MS = 100;

const isTaken = ({ answered }: Arrival) => answered >= 200 && answered <= 299;

export function* eachTold({ contents, entries }: Evidence): Iterable<string> {
  const arrivals = Map.groupBy(
    entries.flatMap((entry) => (entry.op === "webhook" ? [entry] : [])),
    ({ id }) => id,
  );
  const statuses = new Map(contents.runs.map((run) => [run.run_id, run.status]));
  for (const { run_id, waits } of contents.webhooks) {
    if (waits) yield `the webhook of run ${run_id} still waits`;
    if (!arrivals.get(run_id)?.some(isTaken)) yield `the end of run ${run_id} was not told`;
  }
  for (const [id, all] of arrivals) {
    for (const { run, status } of all) {
      const stored = statuses.get(run);
      if (run !== id) yield `webhook ${id} is of run ${run}`;
      // One that was rolled back has ended before that, if it was told.
      if (stored !== undefined && stored !== status)
        yield `webhook ${id} tells ${status} of a run that is ${stored}`;
    }
  }
  yield* explained({ contents, entries }, arrivals);
}

/** Sent again: only what was refused, after a while, or what its sender has died with. */
function* explained(
  { contents, entries }: Pick<Evidence, "contents" | "entries">,
  arrivals: ReadonlyMap<string, readonly Arrival[]>,
): Iterable<string> {
  const ended = new Map(
    entries.flatMap((entry) => (entry.op === "exit" ? [[String(entry.pid), entry.at] as const] : [])),
  );
  const claims = Map.groupBy(contents.webhookClaims, ({ run_id }) => run_id);
  for (const [id, all] of arrivals) {
    const inOrder = all.toSorted((a, b) => a.began - b.began);
    for (const [i, next] of inOrder.entries()) {
      const last = inOrder[i - 1];
      if (last === undefined) continue;
      const taken = claims.get(id)?.filter(({ at }) => at <= last.began + SLACK_MS) ?? [];
      if ((ended.get(taken.at(-1)?.writer ?? "") ?? Number.POSITIVE_INFINITY) <= next.began) continue;
      const wait = next.began - last.at;
      if (wait < 0) yield `webhook ${id} was sent twice at the same time`;
      else if (isTaken(last)) yield `webhook ${id} was sent again after it was answered ${last.answered}`;
      else if (wait + SLACK_MS < (RETRY_MS / 2) * 2 ** (taken.length - 1))
        yield `webhook ${id} was sent again after ${wait} ms, though ${taken.length} attempts have failed`;
    }
  }
}
