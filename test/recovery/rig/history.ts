// What the client did and what it was told, one JSON line each: the checker's first input. `at` is Date.now() of this
// machine, which the rig's PostgreSQL shares.
import { appendFileSync } from "node:fs";

export type Strategy = "reject" | "enqueue" | "interrupt" | "rollback";

/** "ok": acknowledged. "fail": refused, it did not happen. "info": no answer, it may have happened. */
type Outcome = "ok" | "fail" | "info";

export interface Frame {
  readonly id: string;
  readonly event: string;
  readonly data: string;
}

export type ConversationValues = Readonly<Record<string, unknown>> & {
  readonly keyInsights?: readonly string[];
};

export type Operation =
  | {
      op: "create";
      key: string;
      thread: string;
      text: string;
      strategy: Strategy;
      sent: number;
      outcome: Outcome;
      run?: string;
      /** Whose earlier messages its model is to read. */
      session?: string;
    }
  | { op: "cancel"; thread: string; run: string; action: "interrupt" | "rollback"; outcome: Outcome }
  | { op: "delete"; thread: string; outcome: Outcome }
  /** The run's status as a client read it; null: it is gone. */
  | { op: "status"; run: string; status: string | null }
  /** One connection that followed a run. `after`: the id it resumed behind, -1 from the start. */
  | {
      op: "stream";
      run: string;
      after: number;
      frames: readonly Frame[];
      end: "end" | "cut";
      statusAfter?: string | null;
    }
  /** The log of a run as a new client reads it when all is over. */
  | { op: "replay"; run: string; frames: readonly Frame[] }
  | { op: "state"; thread: string; messages: readonly StateMessage[] }
  /** Every response: what a client asked for, and how it was answered (0: not at all). */
  | { op: "response"; request: string; status: number; retryAfter: boolean; instance: string; body?: string }
  /** A change of a conversation by one of its writers: `text` is what it adds. `version`: what it was told. */
  | { op: "patch"; thread: string; writer: string; text: string; outcome: Outcome; version?: number }
  /** A conversation when all is over. `last`: the newest number of its notifications. */
  | { op: "conversation"; thread: string; version: number; values: ConversationValues; last: number }
  /** One connection that followed a conversation's notifications from behind `after`. */
  | { op: "notified"; thread: string; reader: string; after: number; frames: readonly Frame[] }
  /** What a session holds when all is over. */
  | { op: "session"; session: string; messages: readonly StateMessage[] }
  /** A named checkpoint that a client was told of, as JSON. */
  | { op: "checkpoint"; thread: string; id: string; view: string }
  /** The same when all is over, and the state of the new thread that it was restored on; null: it was refused. */
  | { op: "restored"; id: string; view: string; messages: readonly StateMessage[] | null }
  /** Numbers of the steps that a run has named checkpoints of by itself, and of its last step. */
  | { op: "steps"; run: string; saved: readonly number[]; last: number }
  /** A webhook as its receiver got it, from `began` on. `answered`: 0 when the sender got no answer. */
  | { op: "webhook"; id: string; run: string; status: string; began: number; answered: number }
  | { op: "effect"; run: string; attempt: number; text: string }
  | { op: "fault"; kind: FaultKind; instance: string; pid: number }
  /** From when to when a dependency was declared to be away: 5xx is right then. */
  | { op: "outage"; from: number; to: number }
  | { op: "exit"; instance: string; pid: number; expected: boolean; atEnd: boolean; how: string }
  /** A number that may not be larger than its limit: sockets, memory, processes left behind. */
  | { op: "measure"; what: string; value: number; limit: number };

type FaultKind = "start" | "kill" | "pause" | "resume" | "term" | "cut";

export interface StateMessage {
  readonly type: string;
  readonly content: string;
  readonly tool_calls?: readonly unknown[];
}

export type Entry = Operation & { readonly at: number };

/** Something that may cost a run an attempt. The end of the scenario is none. */
export const isFault = (entry: Entry) =>
  entry.op === "outage" ||
  (entry.op === "exit" && !entry.atEnd) ||
  (entry.op === "fault" && (entry.kind === "pause" || entry.kind === "term"));

export interface History {
  readonly entries: readonly Entry[];
  add(entry: Operation): void;
}

export function createHistory(file: string): History {
  const entries: Entry[] = [];
  return {
    entries,
    add(operation) {
      const entry: Entry = { at: Date.now(), ...operation };
      entries.push(entry);
      appendFileSync(file, `${JSON.stringify(entry)}\n`);
    },
  };
}
