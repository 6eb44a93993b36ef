// The checker: what the clients were told and what the database holds, against the promises. Pure.
import type { Contents } from "./contents.ts";
import type { Entry } from "./history.ts";
import { eachChange, eachNotification } from "./invariants/conversations.ts";
import { eachFiring } from "./invariants/crons.ts";
import { executions, recovery, sideEffects } from "./invariants/execution.ts";
import { acknowledged, oneEnd } from "./invariants/runs.ts";
import { bounded, documented } from "./invariants/service.ts";
import { eachCheckpoint, eachMessage } from "./invariants/sessions.ts";
import { noForeignData, serialState } from "./invariants/state.ts";
import { wholeStreams } from "./invariants/streams.ts";
import { eachTold } from "./invariants/webhooks.ts";

export interface Evidence {
  readonly entries: readonly Entry[];
  readonly contents: Contents;
  readonly leaseSeconds: number;
}

export interface Violation {
  readonly invariant: string;
  readonly what: string;
}

type Invariant = (evidence: Evidence) => Iterable<string>;

export const INVARIANTS: Readonly<Record<string, Invariant>> = {
  "I1 no acknowledged run is lost": acknowledged,
  "I2 each run ends once": oneEnd,
  "I3 one execution at a time, and no write of another": executions,
  "I4 the state is a serial history": serialState,
  "I5 each reader gets each event once, in order, the same": wholeStreams,
  "I6 recovery is soon": recovery,
  "I7 nothing grows or is left behind": bounded,
  "I8 no data of another thread": noForeignData,
  "I9 every answer is a documented one": documented,
  "I10 a tool runs as often as its run": sideEffects,
  "I11 each firing of a cron makes one run": eachFiring,
  "I12 each end is told": eachTold,
  "I13 a conversation has each change once": eachChange,
  "I14 each reader gets each notification once": eachNotification,
  "I15 a session has each message once": eachMessage,
  "I16 each named checkpoint comes back": eachCheckpoint,
};

export const check = (evidence: Evidence): Violation[] =>
  Object.entries(INVARIANTS).flatMap(([invariant, find]) =>
    [...find(evidence)].map((what) => ({ invariant, what })),
  );
