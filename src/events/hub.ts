// Carries committed events from the worker to the readers in the same process. Only a shortcut: what a reader misses
// here, it reads from the log.
import type { EventRow } from "./event-log.sql.ts";

/** Characters that may wait for one reader; a slower one goes back to the log. */
const MAX_WAITING = 64 * 1024;

interface Subscription {
  /** Takes what has come, empties the queue. */
  take(): readonly EventRow[];
  /** The seq of the run's last event, once it has ended in this process. */
  endsAt(): number | undefined;
  /** Whether the log may have more than what has come, for a reader that has all up to `last`. */
  isBehind(last: number): boolean;
  /** Resolves at the next news, or when `signal` aborts. */
  changed(signal?: AbortSignal): Promise<void>;
  close(): void;
}

export interface Hub {
  /** `waits`: the reader wants to know of the end, and of the rest only what it can have then. */
  subscribe(runId: string, options?: { readonly waits: boolean }): Subscription;
  /** Committed events of a run, in order. */
  publish(runId: string, events: readonly EventRow[]): void;
  /** The run's end is committed, and `lastSeq` was its last event. */
  end(runId: string, lastSeq: number): void;
  /** There may be something new in the log, or in the run's status. */
  wake(runId: string): void;
  /** The log has events up to `last`; none will follow when the run has ended. */
  report(runId: string, last: number, hasEnded: boolean): void;
  /** Whether there are readers, and all of them only wait. */
  isOnlyAwaited(runId: string): boolean;
  /** Runs that are read now. */
  runIds(): readonly string[];
  /** Readers now, for tests and metrics. */
  size(): number;
}

interface Reader {
  readonly waits: boolean;
  queue: EventRow[];
  waiting: number;
  endsAt: number | undefined;
  /** What the log has at least; infinite when it has to be asked in any case. */
  logged: number;
  dirty: boolean;
  notify: () => void;
}

/** `onNews`: a run of this process has committed events, or has ended. */
export function createHub(onNews: (runId: string) => void = () => undefined): Hub {
  const readers = new Map<string, Set<Reader>>();

  const signalAll = (runId: string, change: (reader: Reader) => void) => {
    for (const reader of readers.get(runId) ?? []) {
      change(reader);
      reader.dirty = true;
      reader.notify();
    }
  };

  return {
    subscribe(runId, { waits } = { waits: false }) {
      const reader: Reader = {
        waits,
        queue: [],
        waiting: 0,
        endsAt: undefined,
        logged: -1,
        dirty: false,
        notify: () => undefined,
      };
      const set = readers.get(runId) ?? new Set();
      readers.set(runId, set.add(reader));
      return {
        take() {
          const taken = reader.queue;
          reader.queue = [];
          reader.waiting = 0;
          reader.dirty = false;
          return taken;
        },
        endsAt: () => reader.endsAt,
        isBehind(last) {
          const isBehind = reader.logged > last;
          reader.logged = -1;
          return isBehind;
        },
        async changed(signal) {
          if (reader.dirty || signal?.aborted) return;
          const { promise, resolve } = Promise.withResolvers<void>();
          reader.notify = resolve;
          const stop = () => resolve();
          signal?.addEventListener("abort", stop, { once: true });
          await promise;
          signal?.removeEventListener("abort", stop);
          reader.notify = () => undefined;
        },
        close() {
          set.delete(reader);
          if (set.size === 0 && readers.get(runId) === set) readers.delete(runId);
        },
      };
    },
    publish(runId, events) {
      onNews(runId);
      const size = events.reduce((sum, event) => sum + event.data.length, 0);
      signalAll(runId, (reader) => {
        if (reader.waiting + size > MAX_WAITING) {
          reader.queue = [];
          reader.waiting = 0;
          reader.logged = Number.POSITIVE_INFINITY;
        } else {
          reader.queue.push(...events);
          reader.waiting += size;
        }
      });
    },
    end(runId, lastSeq) {
      onNews(runId);
      signalAll(runId, (reader) => {
        reader.endsAt = lastSeq;
      });
    },
    wake: (runId) =>
      signalAll(runId, (reader) => {
        reader.logged = Number.POSITIVE_INFINITY;
      }),
    report: (runId, last, hasEnded) =>
      signalAll(runId, (reader) => {
        reader.logged = Math.max(reader.logged, hasEnded ? Number.POSITIVE_INFINITY : last);
      }),
    isOnlyAwaited(runId) {
      const set = readers.get(runId);
      return set !== undefined && [...set].every((reader) => reader.waits);
    },
    runIds: () => [...readers.keys()],
    size: () => [...readers.values()].reduce((sum, set) => sum + set.size, 0),
  };
}
