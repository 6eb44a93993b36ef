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
