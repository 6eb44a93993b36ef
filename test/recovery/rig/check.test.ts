// The checker itself: a history in which all is well, and for each invariant one in which something is not.
import { describe, expect, it } from "vitest";
import { check, type Evidence, INVARIANTS } from "./check.ts";
import type { RunChange } from "./contents.ts";
import {
  adding,
  at,
  change,
  changes,
  claim,
  cronMove,
  end,
  ended,
  frames,
  good,
  holding,
  known,
  messages,
  notified,
  response,
  restored,
  runs,
  said,
  sessionOf,
  state,
  stream,
  THREAD,
  told,
  toView,
  webhook,
} from "./good-history.ts";

const bad: readonly [invariant: string, what: string, evidence: Evidence][] = [
  ["I1", "a run that is gone", holding({ runs: good.contents.runs.slice(1) })],
  ["I1", "a turn that was taken twice", runs(1, { key: "T1#1" })],
  ["I2", "a run that does not end", runs(0, { status: "running" })],
  ["I2", "a run that ends twice", holding({ changes: [...changes, change(60, { new_status: "error" })] })],
  [
    "I2",
    "a status that was read and is another one later",
    adding(at(95, { op: "status", run: "run1", status: "error" })),
  ],
  ["I2", "an error without a cause", runs(0, { status: "error" })],
  [
    "I2",
    "a success long after a cancel",
    {
      ...adding(at(10, { op: "cancel", thread: THREAD, run: "run1", action: "interrupt", outcome: "ok" })),
      contents: { ...good.contents, changes: [...changes, end(9_000, "run1")] },
    },
  ],
  [
    "I3",
    "a second run while the first has a lease",
    holding({ changes: [claim(5, "run1", 1), claim(6, "run2", 2)] }),
  ],
  [
    "I3",
    "a token that does not grow",
    holding({ changes: [changes[0], changes[1], claim(26, "run2", 1)] as RunChange[] }),
  ],
  [
    "I3",
    "runs out of order",
    holding({ changes: [claim(5, "run2", 1), end(6, "run2"), claim(7, "run1", 2)] }),
  ],
  [
    "I3",
    "an end by somebody else",
    holding({ changes: [claim(5, "run1", 1), { ...end(9, "run1"), writer: "2" }] }),
  ],
  [
    "I3",
    "a write without the run",
    holding({ staleWrites: [{ what: "event", writer: "2", thread_id: THREAD, detail: "" }] }),
  ],
  ["I3", "further attempts for no reason", runs(1, { attempt: 6 })],
  ["I4", "a turn that is missing", state(messages.slice(0, 4))],
  ["I4", "a turn that is there twice", state([...messages, ...messages.slice(4)])],
  [
    "I4",
    "a reply to another past",
    state([...messages.slice(0, 5), { type: "ai", content: "re T1#2 after 1 x" }]),
  ],
  ["I5", "an event that is missing", stream({ frames: [frames[0], frames[2]] })],
  ["I5", "an event that differs", stream({ frames: [frames[0], { ...frames[1], data: "{}" }, frames[2]] })],
  ["I5", "a stream that ends early", stream({ frames: frames.slice(0, 2) })],
  ["I5", "a stream that ends before its run", stream({ statusAfter: "running" })],
  ["I5", "a log with a gap", holding({ events: [{ run_id: "run1", seqs: [0, 2] }] })],
  ["I5", "an attempt that nobody was told of", runs(0, { attempt: 2 })],
  [
    "I6",
    "a late takeover",
    holding({
      changes: [claim(5, "run1", 1), change(14_000, { new_token: 2, old_until: 1_000, new_until: 19_000 })],
    }),
  ],
  ["I7", "more than the limit", adding(at(95, { op: "measure", what: "sockets", value: 2, limit: 1 }))],
  ["I7", "rows of nobody", holding({ orphans: [{ what: "checkpoint", thread_id: "x" }] })],
  [
    "I8",
    "words of another thread",
    stream({ frames: [frames[0], { ...frames[1], data: '"T2#1"' }, frames[2]] }),
  ],
  ["I9", "a 500", response(500, true)],
  ["I9", "a 503 while nothing is away", response(503, true)],
  [
    "I9",
    "a server that ends by itself",
    adding(at(95, { op: "exit", instance: "s1", pid: 2, expected: false, atEnd: false, how: "1" })),
  ],
  [
    "I10",
    "a second effect in one attempt",
    adding(at(95, { op: "effect", run: "run1", attempt: 1, text: "" })),
  ],
  ["I11", "a firing without a run", holding({ cronMoves: [cronMove(12, { due: 10 })], cronRuns: [] })],
  [
    "I11",
    "a run of no firing",
    holding({ cronRuns: [...good.contents.cronRuns, { run_id: "run4", cron_id: "cron" }] }),
  ],
  [
    "I11",
    "a cron that is due and does not fire",
    holding({ cronMoves: [...good.contents.cronMoves, cronMove(50, { writer: "", due: 60_000, next: 50 })] }),
  ],
  [
    "I11",
    "a minute that is passed over",
    holding({ cronMoves: [cronMove(12, { due: 10, next: 120_000, runs: ["run3"] })] }),
  ],
  ["I12", "an end that is not told", holding({ webhooks: [{ run_id: "run2", waits: false }] })],
  ["I12", "a webhook that waits", holding({ webhooks: [{ run_id: "run1", waits: true }] })],
  ["I12", "a webhook of another run", adding(webhook(9_000, { id: "run2" }))],
  ["I12", "a webhook of another end", adding(webhook(9_000, { id: "run2", run: "run2", status: "error" }))],
  ["I12", "a webhook that is sent again after it was taken", adding(webhook(9_000, {}))],
  ["I12", "a webhook that is tried again at once", adding(webhook(1_000, { answered: 500 }))],
  ["I12", "a webhook that is sent by two", adding(webhook(2_700, { began: 2_605 }))],
  ["I13", "a change that is lost", known({ keyInsights: ["text 4"] })],
  ["I13", "a change that is there twice", known({ keyInsights: ["text 1", "text 4", "text 4"] })],
  ["I13", "changes in another order", known({ keyInsights: ["text 4", "text 1"] })],
  ["I13", "a change that was refused", known({ keyInsights: ["text 1", "text 4", "text 2"] }, 3)],
  ["I13", "a change of nobody", known({ keyInsights: ["text 1", "text 4", "text"] }, 3)],
  ["I13", "a version too many", known({}, 3)],
  ["I13", "a key that another one's change has set back", known({ objective: undefined })],
  [
    "I14",
    "a notification that is missing",
    adding(...notified("reader 3", 0, [told(1, 1), ended(3, "run1")])),
  ],
  ["I14", "a notification that comes twice", adding(...notified("reader 1", 4, [ended(4, "run2")]))],
  ["I14", "a reader who is not told all", adding(...notified("reader 3", 0, [told(1, 1)]))],
  ["I14", "a reader who begins elsewhere", adding(...notified("reader 3", 2, [ended(3, "run1")]))],
  [
    "I14",
    "readers who are told different things",
    adding(...notified("reader 3", 0, [told(1, 1), told(2, 3), ended(3, "run1"), ended(4, "run2")])),
  ],
  ["I14", "a run whose end is told wrong", runs(0, { status: "error" })],
  ["I15", "a message of a session that is lost", sessionOf(said.slice(0, 3))],
  ["I15", "a message of a session that is there twice", sessionOf([...said, ...said.slice(3)])],
  ["I15", "a reply that knows nothing of its session", sessionOf(said.slice(2))],
  ["I15", "half a turn", sessionOf([...said.slice(0, 2), { type: "human", content: "T3#2" }])],
  ["I16", "a checkpoint that is gone", restored("{}", null)],
  ["I16", "a checkpoint that is another one", restored(toView([]), messages.slice(0, 1))],
  ["I16", "a checkpoint that cannot be restored", restored(toView(messages.slice(0, 1)), null)],
  ["I16", "a checkpoint that is restored as another one", restored(toView(messages.slice(0, 1)), [])],
  ["I16", "a step without one", adding(at(95, { op: "steps", run: "run1", saved: [2], last: 2 }))],
];

describe("the checker", () => {
  it("finds nothing where all is well", () => {
    expect(check(good)).toEqual([]);
  });

  it.each(bad)("%s: finds %s", (invariant, _, evidence) => {
    expect(check(evidence).map((violation) => violation.invariant.split(" ")[0])).toContain(invariant);
  });

  it("has a bad history for every invariant", () => {
    const covered = new Set(bad.map(([invariant]) => invariant));
    expect(Object.keys(INVARIANTS).map((name) => name.split(" ")[0])).toEqual([...covered]);
  });

  it("knows what a run has read of its session, though it has failed and left nothing there", () => {
    const { entries } = sessionOf(said.slice(0, 2));
    const violations = check({ ...runs(3, { status: "error" }), entries });
    expect(violations.filter(({ invariant }) => invariant.startsWith("I4"))).toEqual([]);
  });

  it("lets pass what a fault explains", () => {
    const outage = at(0, { op: "outage", from: 90, to: 100 });
    expect(check({ ...response(503, true), entries: [...response(503, true).entries, outage] })).toEqual([]);
  });
});
