// A history in which all is well, and ways to spoil it: for the tests of the checker.
import type { Evidence } from "./check.ts";
import type { CronMove, RunChange } from "./contents.ts";
import type { Entry, Frame, Operation, StateMessage } from "./history.ts";
import { toEffect, toReply } from "./reply.ts";

export const THREAD = "thread";
export const at = (time: number, operation: Operation): Entry => ({ ...operation, at: time });
export const frames: readonly Frame[] = ["metadata", "values", "values"].map((event, id) => ({
  id: String(id),
  event,
  data: event === "metadata" ? '{"attempt":1}' : `{"n":${id}}`,
}));
const first = "T1#1 tool";
const second = "T1#2";
const past = [first, "", toEffect(first)];
export const messages = [
  { type: "human", content: first },
  { type: "ai", content: "" },
  { type: "tool", content: toEffect(first) },
  { type: "ai", content: toReply(past, first) },
  { type: "human", content: second },
  { type: "ai", content: toReply([...past, toReply(past, first), second], second) },
];

const conversation = {
  op: "conversation",
  thread: THREAD,
  version: 2,
  values: { keyInsights: ["text 1", "text 4"], objective: "text 1", methodology: "text 4" },
  last: 4,
} as const;
const notification = (seq: number, type: string, about: object): Frame => ({
  id: String(seq),
  event: type,
  data: JSON.stringify({ type, ...about }),
});
export const told = (seq: number, version: number) => notification(seq, "state:updated", { version });
export const ended = (seq: number, run_id: string) => notification(seq, "job:completed", { run_id });
export const notified = (reader: string, after: number, news: readonly Frame[]): Entry[] => [
  at(88, {
    op: "notified",
    thread: THREAD,
    reader,
    after,
    frames: [notification(after, "connected", {}), ...news],
  }),
];

/** The two turns of a session, each on a thread of its own. */
export const said: readonly StateMessage[] = [
  { type: "human", content: "T3#1" },
  { type: "ai", content: toReply(["T3#1"], "T3#1") },
  { type: "human", content: "T3#2" },
  { type: "ai", content: toReply(["T3#1", toReply(["T3#1"], "T3#1"), "T3#2"], "T3#2") },
];
export const toView = (own: readonly StateMessage[]) => JSON.stringify({ shared_state: { messages: own } });

const entries: readonly Entry[] = [
  ...["T3#1", "T3#2"].map((key, i) =>
    at(i, {
      op: "create",
      key,
      thread: `thread${i + 3}`,
      text: key,
      strategy: "enqueue",
      sent: i,
      outcome: "ok",
      run: `session${i + 1}`,
      session: "T3",
    }),
  ),
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
  at(85, { op: "webhook", id: "run1", run: "run1", status: "success", began: 85, answered: 500 }),
  at(2_610, { op: "webhook", id: "run1", run: "run1", status: "success", began: 2_610, answered: 204 }),
  ...["ok", "fail", "info", "ok"].map((outcome, i) =>
    at(86, {
      op: "patch",
      thread: THREAD,
      writer: i === 3 ? "methodology" : "objective",
      text: `text ${i + 1}`,
      outcome: outcome as "ok",
      ...(outcome === "ok" ? { version: i === 3 ? 2 : 1 } : {}),
    }),
  ),
  at(87, conversation),
  at(87, { op: "session", session: "T3", messages: said }),
  at(87, { op: "state", thread: "thread4", messages: said.slice(2) }),
  at(87, { op: "checkpoint", thread: THREAD, id: "kept", view: toView(messages.slice(0, 1)) }),
  at(87, { op: "restored", id: "kept", view: toView(messages.slice(0, 1)), messages: messages.slice(0, 1) }),
  at(87, { op: "steps", run: "run1", saved: [1, 2], last: 2 }),
  ...notified("reader 1", 0, [told(1, 1), told(2, 2)]),
  ...notified("reader 1", 2, [ended(3, "run1"), ended(4, "run2")]),
  ...notified("reader 2", 0, [told(1, 1), told(2, 2), ended(3, "run1"), ended(4, "run2")]),
  at(99, { op: "exit", instance: "s0", pid: 1, expected: true, atEnd: true, how: "SIGKILL" }),
];

export const change = (time: number, own: Partial<RunChange>): RunChange => ({
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
export const claim = (time: number, run_id: string, token: number) =>
  change(time, {
    run_id,
    old_status: "pending",
    old_token: null,
    new_token: token,
    old_owner: null,
    old_until: null,
  });
export const end = (time: number, run_id: string) =>
  change(time, { run_id, new_status: "success", new_owner: null });
export const changes = [claim(5, "run1", 1), end(25, "run1"), claim(26, "run2", 2), end(45, "run2")];

export const cronMove = (time: number, own: Partial<CronMove>): CronMove => ({
  at: time,
  cron_id: "cron",
  writer: "1",
  due: 0,
  next: 60_000,
  runs: [],
  ...own,
});
export const webhook = (time: number, own: object): Entry =>
  at(time, { op: "webhook", id: "run1", run: "run1", status: "success", began: time, answered: 204, ...own });

export const good: Evidence = {
  entries,
  leaseSeconds: 3,
  contents: {
    runs: ["run1", "run2", "session1", "session2"].map((run_id, i) => ({
      run_id,
      thread_id: [THREAD, THREAD, "thread3", "thread4"][i] ?? "",
      key: ["T1#1", "T1#2", "T3#1", "T3#2"][i] ?? "",
      run_number: i + 1,
      status: "success",
      error: null,
      attempt: 1,
    })),
    changes,
    staleWrites: [],
    events: [{ run_id: "run1", seqs: [0, 1, 2] }],
    orphans: [],
    cronMoves: [
      cronMove(0, { writer: "", due: 60_000, next: 10 }),
      cronMove(12, { due: 10, runs: ["run3"] }),
    ],
    cronRuns: [{ run_id: "run3", cron_id: "cron" }],
    webhooks: [{ run_id: "run1", waits: false }],
    webhookClaims: [
      { at: 30, writer: "3", run_id: "run1" },
      { at: 2_600, writer: "2", run_id: "run1" },
    ],
  },
};
export const adding = (...more: Entry[]): Evidence => ({ ...good, entries: [...entries, ...more] });
export const holding = (contents: Partial<Evidence["contents"]>): Evidence => ({
  ...good,
  contents: { ...good.contents, ...contents },
});
export const runs = (i: number, own: object) =>
  holding({ runs: good.contents.runs.map((run, index) => (index === i ? { ...run, ...own } : run)) });
export const stream = (own: object) =>
  adding(at(95, { op: "stream", run: "run1", after: -1, frames, end: "end", ...own } as Operation));
export const state = (own: readonly { type: string; content: string }[]) =>
  adding(at(95, { op: "state", thread: THREAD, messages: own }));
export const response = (status: number, retryAfter = false) =>
  adding(at(95, { op: "response", request: "GET", status, retryAfter, instance: "s0" }));

export const known = (values: object, version = 2) =>
  adding(at(95, { ...conversation, version, values: { ...conversation.values, ...values } }));

const replaying = (entry: Operation, op: Operation["op"]): Evidence => ({
  ...good,
  entries: [...entries.filter((one) => one.op !== op), at(95, entry)],
});
export const sessionOf = (messages: readonly StateMessage[]) =>
  replaying({ op: "session", session: "T3", messages }, "session");
export const restored = (view: string, messages: readonly StateMessage[] | null) =>
  replaying({ op: "restored", id: "kept", view, messages }, "restored");
