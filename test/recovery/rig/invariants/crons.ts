// I11: crons, as the audit saw their next dates move.
import type { Evidence } from "../check.ts";

const MINUTE_MS = 60_000;

/** A server looks every five seconds; the rest tells a firing that is lost from a busy machine. */
const LATE_MS = 10_000;

/** Of crons that are due each minute. */
export function* eachFiring({ contents }: Evidence): Iterable<string> {
  const fired = new Set<string>();
  for (const [cron, moves] of Map.groupBy(contents.cronMoves, (move) => move.cron_id)) {
    let next = moves[0]?.due ?? null;
    for (const { at, due, next: moved, writer, runs } of moves) {
      const firing = `the firing of ${cron} that was due at ${new Date(due).toISOString()}`;
      if (due !== next) yield `${firing} follows one that was due at ${next}`;
      next = moved;
      if (writer === "") continue;
      if (runs.length !== 1) yield `${firing} has made ${runs.length} runs`;
      for (const run of runs) fired.add(run);
      if (at < due || at > due + LATE_MS) yield `${firing} was ${Math.round(at - due)} ms late`;
      const isNextMinute = moved !== null && moved % MINUTE_MS === 0 && moved - at <= MINUTE_MS;
      if (!isNextMinute) yield `${firing} is followed by one at ${moved}`;
    }
    if (moves.at(-1)?.writer === "") yield `cron ${cron} was due and has not been fired`;
  }
  for (const { run_id, cron_id } of contents.cronRuns)
    if (!fired.has(run_id)) yield `run ${run_id} is of no firing of cron ${cron_id}`;
  const there = new Set(contents.cronRuns.map(({ run_id }) => run_id));
  for (const run of fired) if (!there.has(run)) yield `run ${run} of a cron is gone`;
}
