// I1 and I2: the life of a run, as acknowledged, as read, and as the audit saw it.
import type { Evidence } from "../check.ts";
import { isFault } from "../history.ts";

const TERMINAL = new Set(["success", "error", "timeout", "interrupted"]);

type Entries = Pick<Evidence, "entries">;

/** Runs that somebody asked to be rolled back, or whose thread was deleted: they may be gone. */
function mayBeGone({ entries }: Entries): Set<string> {
  const gone = new Set<string>();
  const deleted = deletedThreads({ entries });
  for (const entry of entries) {
    if (entry.op === "create" && entry.run && deleted.has(entry.thread)) gone.add(entry.run);
    if (entry.op === "cancel" && entry.action === "rollback") gone.add(entry.run);
    if (entry.op !== "create" || entry.strategy !== "rollback" || entry.outcome === "fail") continue;
    for (const earlier of entries) {
      if (
        earlier.op === "create" &&
        earlier.thread === entry.thread &&
        earlier.run &&
        earlier.run !== entry.run
      )
        gone.add(earlier.run);
    }
  }
  return gone;
}

const deletedThreads = ({ entries }: Entries) =>
  new Set(
    entries.flatMap((entry) => (entry.op === "delete" && entry.outcome !== "fail" ? [entry.thread] : [])),
  );

export function* acknowledged(evidence: Evidence): Iterable<string> {
  const there = new Map(evidence.contents.runs.map((run) => [run.run_id, run]));
  const gone = mayBeGone(evidence);
  const deleted = deletedThreads(evidence);
  const keys = new Map<string, string>();
  for (const entry of evidence.entries) {
    if (entry.op !== "create" || entry.outcome !== "ok" || !entry.run || deleted.has(entry.thread)) continue;
    const before = keys.get(entry.key);
    if (before !== undefined && before !== entry.run)
      yield `${entry.key} was taken twice: ${before}, ${entry.run}`;
    keys.set(entry.key, entry.run);
    if (!there.has(entry.run) && !gone.has(entry.run)) yield `${entry.key}: run ${entry.run} is gone`;
  }
  const byKey = Map.groupBy(evidence.contents.runs, (run) => run.key ?? run.run_id);
  for (const [key, runs] of byKey) if (runs.length > 1) yield `${key} has ${runs.length} runs`;
}

/** Runs that somebody cancelled, or sent a run after that was to stop them. */
function mayBeStopped({ entries }: Entries): Set<string> {
  const stopped = mayBeGone({ entries });
  for (const entry of entries) {
    if (entry.op === "cancel" && entry.outcome !== "fail") stopped.add(entry.run);
    if (entry.op !== "create" || entry.strategy !== "interrupt" || entry.outcome === "fail") continue;
    for (const other of entries)
      if (other.op === "create" && other.thread === entry.thread && other.run && other.key !== entry.key)
        stopped.add(other.run);
  }
  return stopped;
}

/** How long a cancel may take to reach the run. */
const CANCEL_MS = 3_000;

/** A run is an error only if its graph failed, or if its servers did, and no success long after it was cancelled. */
function* explained({ entries, contents }: Evidence): Iterable<string> {
  const texts = new Map(
    entries.flatMap((entry) => (entry.op === "create" ? [[entry.key, entry.text] as const] : [])),
  );
  const faults = entries.filter(isFault).length;
  for (const run of contents.runs) {
    const mayFail =
      / (die|throw)/.test(texts.get(run.key ?? "") ?? "") ||
      (faults >= 3 && run.error?.startsWith("RunCrashed"));
    if (run.status === "error" && !mayFail) yield `run ${run.key} ended as an error: ${run.error}`;
  }
  const stopped = mayBeStopped({ entries });
  for (const run of contents.runs)
    if (run.status === "interrupted" && !stopped.has(run.run_id))
      yield `run ${run.key} was interrupted, though nobody has asked for it`;
  const cancelled = new Map(
    entries.flatMap((entry) =>
      entry.op === "cancel" && entry.outcome === "ok" ? [[entry.run, entry.at] as const] : [],
    ),
  );
  for (const change of contents.changes) {
    const at = cancelled.get(change.run_id);
    if (at !== undefined && change.new_status === "success" && change.at > at + CANCEL_MS)
      yield `run ${change.run_id} ended as success ${Math.round(change.at - at)} ms after it was cancelled`;
  }
}

export function* oneEnd(evidence: Evidence): Iterable<string> {
  for (const run of evidence.contents.runs) {
    if (!TERMINAL.has(run.status)) yield `run ${run.run_id} is still ${run.status}`;
  }
  yield* explained(evidence);
  const ended = new Map<string, string>();
  for (const change of evidence.contents.changes) {
    if (change.kind !== "update" || change.new_status === null) continue;
    const end = ended.get(change.run_id);
    if (end !== undefined && end !== change.new_status)
      yield `run ${change.run_id} was ${end} and then ${change.new_status}`;
    if (TERMINAL.has(change.new_status)) ended.set(change.run_id, change.new_status);
  }
  const read = new Map<string, string>();
  const gone = mayBeGone(evidence);
  for (const entry of evidence.entries) {
    if (entry.op !== "status") continue;
    const before = read.get(entry.run);
    if (before !== undefined && entry.status !== before && !(entry.status === null && gone.has(entry.run)))
      yield `run ${entry.run} was read as ${before} and then as ${entry.status}`;
    if (entry.status !== null && TERMINAL.has(entry.status)) read.set(entry.run, entry.status);
  }
}
