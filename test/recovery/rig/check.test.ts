// The checker itself: a history in which all is well, and for each invariant one in which something is not.
import { describe, expect, it } from "vitest";
import { check, type Evidence, INVARIANTS } from "./check.ts";
import type { RunChange } from "./contents.ts";
import type { Entry, Frame, Operation } from "./history.ts";
import { toEffect, toReply } from "./reply.ts";

const THREAD = "thread";
const at = (time: number, operation: Operation): Entry => ({ ...operation, at: time });
const frames: readonly Frame[] = ["metadata", "values", "values"].map((event, id) => ({
  id: String(id),
  event,
  data: event === "metadata" ? '{"attempt":1}' : `{"n":${id}}`,
}));
const first = "T1#1 tool";
const second = "T1#2";
const past = [first, "", toEffect(first)];
const messages = [
  { type: "human", content: first },
  { type: "ai", content: "" },
  { type: "tool", content: toEffect(first) },
  { type: "ai", content: toReply(past, first) },
  { type: "human", content: second },
  { type: "ai", content: toReply([...past, toReply(past, first), second], second) },
];

const entries: readonly Entry[] = [
  ...["T1#1", "T1#2"].map((key, i) =>
    at(i, {
      op: "create",
      key,
      thread: THREAD,
      text: [first, second][i] ?? "",
      strategy: "enqueue",
      sent: i,
      outcome: "ok",
      run: `run${i + 1}`,
    }),
  ),
  at(20, { op: "stream", run: "run1", after: -1, frames: frames.slice(0, 2), end: "cut" }),
  at(30, {
    op: "stream",
    run: "run1",
    after: 1,
    frames: frames.slice(2),
    end: "end",
    statusAfter: "success",
  }),
  at(40, { op: "status", run: "run1", status: "success" }),
  at(50, { op: "effect", run: "run1", attempt: 1, text: toEffect(first) }),
  at(60, { op: "response", request: "GET", status: 200, retryAfter: false, instance: "s0" }),
  at(70, { op: "measure", what: "sockets", value: 1, limit: 1 }),
  at(80, { op: "replay", run: "run1", frames }),
  at(90, { op: "state", thread: THREAD, messages }),
  at(99, { op: "exit", instance: "s0", pid: 1, expected: true, atEnd: true, how: "SIGKILL" }),
];

const change = (time: number, own: Partial<RunChange>): RunChange => ({
  at: time,
  run_id: "run1",
  thread_id: THREAD,
  key: null,
  kind: "update",
  writer: "1",
  old_status: "running",
  new_status: "running",
  old_token: 1,
  new_token: 1,
  old_owner: "1",
  new_owner: "1",
  old_until: 1_000,
  new_until: 1_000,
  ...own,
});
const claim = (time: number, run_id: string, token: number) =>
  change(time, {
    run_id,
    old_status: "pending",
    old_token: null,
    new_token: token,
    old_owner: null,
    old_until: null,
  });
const end = (time: number, run_id: string) =>
  change(time, { run_id, new_status: "success", new_owner: null });
const changes = [claim(5, "run1", 1), end(25, "run1"), claim(26, "run2", 2), end(45, "run2")];

const good: Evidence = {
  entries,
  leaseSeconds: 3,
  contents: {
    runs: ["run1", "run2"].map((run_id, i) => ({
      run_id,
      thread_id: THREAD,
      key: `T1#${i + 1}`,
      run_number: i + 1,
      status: "success",
      error: null,
      attempt: 1,
    })),
    changes,
    staleWrites: [],
    events: [{ run_id: "run1", seqs: [0, 1, 2] }],
    orphans: [],
  },
};
const adding = (...more: Entry[]): Evidence => ({ ...good, entries: [...entries, ...more] });
const holding = (contents: Partial<Evidence["contents"]>): Evidence => ({
  ...good,
  contents: { ...good.contents, ...contents },
});
const runs = (i: number, own: object) =>
  holding({ runs: good.contents.runs.map((run, index) => (index === i ? { ...run, ...own } : run)) });
const stream = (own: object) =>
  adding(at(95, { op: "stream", run: "run1", after: -1, frames, end: "end", ...own } as Operation));
const state = (own: readonly { type: string; content: string }[]) =>
  adding(at(95, { op: "state", thread: THREAD, messages: own }));
const response = (status: number, retryAfter = false) =>
  adding(at(95, { op: "response", request: "GET", status, retryAfter, instance: "s0" }));

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
  ["I3", "further attempts for no reason", runs(1, { attempt: 5 })],
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

  it("lets pass what a fault explains", () => {
    const outage = at(0, { op: "outage", from: 90, to: 100 });
    expect(check({ ...response(503, true), entries: [...response(503, true).entries, outage] })).toEqual([]);
  });
});
