// I7 and I9: how the servers behaved.
import type { Evidence } from "../check.ts";

/** A dependency that is back needs a moment until everybody has noticed. */
const SLACK_MS = 5_000;

export function* documented({ entries }: Evidence): Iterable<string> {
  const outages = entries.flatMap((entry) => (entry.op === "outage" ? [entry] : []));
  const stopped = new Set(
    entries.flatMap((entry) => (entry.op === "fault" && entry.kind === "term" ? [entry.instance] : [])),
  );
  for (const entry of entries) {
    if (entry.op === "exit" && !entry.expected) yield `${entry.instance} ended by itself: ${entry.how}`;
    if (entry.op !== "response" || entry.status < 500) continue;
    const wasOut = outages.some((outage) => outage.from < entry.at && entry.at < outage.to + SLACK_MS);
    if (entry.status === 503 && entry.retryAfter && (wasOut || stopped.has(entry.instance))) continue;
    yield `${entry.request} was answered ${entry.status}: ${entry.body ?? ""}`;
  }
}

export function* bounded({ entries, contents }: Evidence): Iterable<string> {
  for (const entry of entries) {
    if (entry.op === "measure" && entry.value > entry.limit)
      yield `${entry.what} is ${entry.value}, above ${entry.limit}`;
  }
  for (const { what, thread_id } of contents.orphans)
    yield `a ${what} of thread ${thread_id} is left, which is gone`;
}
