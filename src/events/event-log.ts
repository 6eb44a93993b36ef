// The event log, written ahead: an event reaches readers only when it is committed. All runs of the process share one
// insert; the next one starts when the last has returned (group commit). A run whose end is all that its readers wait for
// is in no hurry: what a short one has to log comes with its end.
import type { Queryable } from "../db/database.ts";
import { insertEvents, type NewEvent, type OwnedEvent, ownerOf } from "./event-log.sql.ts";
import type { Hub } from "./hub.ts";

/** The run belongs to another worker now: stop, and write nothing more. */
export class LostRunError extends Error {
  constructor(runId: string) {
    super(`Another worker has taken over run ${runId}.`);
    this.name = "LostRunError";
  }
}

export interface EventWriter {
  /** Adds an event; returns at once. `pointer`: to be stored instead of `data`, see state-pointer.ts. */
  append(event: string, data: string, pointer?: string): void;
  /** Waits until there is room, so that a fast graph cannot fill the memory. @throws LostRunError */
  ready(): Promise<void>;
  /** Waits for what is being written and returns the rest, to be committed with the run's end. @throws LostRunError */
  close(): Promise<readonly NewEvent[]>;
  /** Hands the rest to the readers, after that commit, and tells them that it was the end. */
  ended(rest: readonly NewEvent[]): void;
}

export interface EventLog {
  /** A writer for one attempt of a run. `nextSeq` goes on where an earlier attempt stopped. */
  open(runId: string, token: string, nextSeq: number): EventWriter;
}

/** Milliseconds that an event may wait when the run is only awaited: another server's reader may be there. */
const PATIENCE_MS = 50;
/** Characters a run may have uncommitted before it waits. */
const MAX_UNCOMMITTED = 1024 * 1024;
/** Events and characters of one insert. */
const BATCH_EVENTS = 1_000;
const BATCH_CHARS = 4 * 1024 * 1024;

interface Writer {
  readonly runId: string;
  readonly token: string;
  pending: OwnedEvent[];
  uncommitted: number;
  failure: unknown;
}

export function createEventLog({ db, hub }: { db: Queryable; hub: Hub }): EventLog {
  const waiting = new Set<Writer>();
  let flushing = false;
  /** Whether something of what waits does not wait for the others. */
  let urgent = false;
  let patience: NodeJS.Timeout | undefined;
  /** Resolves when the insert under way has returned: who waits for its own events looks again after each one. */
  let inserted = Promise.withResolvers<void>();

  const flush = async () => {
    flushing = true;
    // One turn of the event loop: events of the same moment share the insert.
    await new Promise(setImmediate);
    while (urgent && waiting.size > 0) {
      const batch = takeBatch(waiting);
      urgent = waiting.size > 0;
      const events = [...batch.values()].flat();
      let owned: Set<string>;
      let failure: unknown;
      try {
        owned = await insertEvents(db, events);
      } catch (error) {
        owned = new Set();
        failure = error;
      }
      for (const [writer, written] of batch) {
        writer.uncommitted -= size(written);
        if (owned.has(ownerOf(writer))) hub.publish(writer.runId, written);
        else {
          writer.failure = failure ?? new LostRunError(writer.runId);
          writer.pending = [];
          waiting.delete(writer);
        }
      }
      inserted.resolve();
      inserted = Promise.withResolvers();
    }
    flushing = false;
  };
  const hurry = () => {
    clearTimeout(patience);
    patience = undefined;
    urgent = true;
    if (!flushing) void flush();
  };

  return {
    open(runId, token, nextSeq) {
      const writer: Writer = { runId, token, pending: [], uncommitted: 0, failure: undefined };
      let seq = nextSeq;
      return {
        append(event, data, pointer) {
          if (writer.failure !== undefined) return;
          const stored = pointer === undefined ? {} : { pointer };
          writer.pending.push({ runId, token, seq: seq++, event, data, ...stored });
          writer.uncommitted += data.length + 1;
          waiting.add(writer);
          if (hub.isOnlyAwaited(runId)) patience ??= setTimeout(hurry, PATIENCE_MS);
          else hurry();
        },
        async ready() {
          while (writer.uncommitted > MAX_UNCOMMITTED && writer.failure === undefined) {
            if (waiting.has(writer)) hurry();
            await inserted.promise;
          }
          if (writer.failure !== undefined) throw writer.failure;
        },
        async close() {
          waiting.delete(writer);
          const rest = writer.pending;
          writer.pending = [];
          writer.uncommitted -= size(rest);
          while (writer.uncommitted > 0 && writer.failure === undefined) await inserted.promise;
          if (writer.failure !== undefined) throw writer.failure;
          return rest;
        },
        ended(rest) {
          hub.publish(runId, rest);
          hub.end(runId, seq - 1);
        },
      };
    },
  };
}

function takeBatch(waiting: Set<Writer>): Map<Writer, OwnedEvent[]> {
  const batch = new Map<Writer, OwnedEvent[]>();
  let events = 0;
  let chars = 0;
  for (const writer of [...waiting]) {
    const taken: OwnedEvent[] = [];
    for (const event of writer.pending) {
      if (events > 0 && (events >= BATCH_EVENTS || chars + event.data.length > BATCH_CHARS)) break;
      taken.push(event);
      events++;
      chars += event.data.length;
    }
    if (taken.length > 0) batch.set(writer, taken);
    writer.pending.splice(0, taken.length);
    waiting.delete(writer);
    if (writer.pending.length > 0) {
      // What did not fit comes after the others: a run that writes without end holds up none of them.
      waiting.add(writer);
      break;
    }
  }
  return batch;
}

const size = (events: readonly NewEvent[]) => events.reduce((sum, event) => sum + event.data.length + 1, 0);
