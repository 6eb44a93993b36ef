// I5: what readers got over any number of connections is what the log holds, each event once, byte for byte.
import type { Evidence } from "../check.ts";
import type { Frame } from "../history.ts";

const TERMINAL = new Set<string | null>(["success", "error", "timeout", "interrupted", null]);

export function* wholeStreams({ entries, contents }: Evidence): Iterable<string> {
  const replays = new Map<string, readonly Frame[]>();
  for (const entry of entries) if (entry.op === "replay") replays.set(entry.run, entry.frames);
  // One that was cancelled before it started has said nothing.
  const silent = new Set(contents.runs.flatMap((run) => (run.attempt === 0 ? [run.run_id] : [])));
  for (const [run, frames] of replays) {
    const gap = frames.findIndex((frame, index) => frame.id !== String(index));
    if (gap >= 0) yield `the log of run ${run} has ${frames[gap]?.id} where ${gap} should be`;
    if (frames.length === 0 && !silent.has(run)) yield `the log of run ${run} is empty`;
  }
  // Each attempt says in the stream that it begins: readers know then that what follows may repeat what they have seen.
  for (const run of contents.runs) {
    const begun = replays.get(run.run_id)?.findLast((frame) => frame.event === "metadata");
    const attempt = begun && (JSON.parse(begun.data) as { attempt: number }).attempt;
    if (run.status === "success" && begun && attempt !== run.attempt)
      yield `run ${run.key} ended in attempt ${run.attempt}, its stream tells of ${attempt}`;
  }
  for (const { run_id, seqs } of contents.events) {
    if (seqs.some((seq, index) => seq !== index)) yield `the events of run ${run_id} are ${seqs.join(" ")}`;
  }
  for (const entry of entries) {
    if (entry.op !== "stream") continue;
    const { run, after, frames, end, statusAfter } = entry;
    const log = replays.get(run);
    const wrong = frames.findIndex((frame, index) => frame.id !== String(after + 1 + index));
    if (wrong >= 0)
      yield `a reader of run ${run} behind ${after} got ${frames[wrong]?.id} as number ${wrong}`;
    if (end === "end" && statusAfter !== undefined && !TERMINAL.has(statusAfter))
      yield `the stream of run ${run} had ended when it was ${statusAfter}`;
    if (!log) continue;
    for (const frame of frames) {
      const stored = log[Number(frame.id)];
      if (stored && (stored.event !== frame.event || stored.data !== frame.data)) {
        yield `event ${frame.id} of run ${run} was ${frame.event} ${frame.data}, and is ${stored.event} ${stored.data}`;
      }
    }
    const last = frames.length > 0 ? Number(frames.at(-1)?.id) : after;
    if (end === "end" && last !== log.length - 1)
      yield `the stream of run ${run} ended behind ${last}, the log behind ${log.length - 1}`;
  }
}
