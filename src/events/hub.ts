// Carries committed events from the worker to the readers in the same process. Only a shortcut: what a reader misses
// here, it reads from the log.
import type { EventRow } from "./event-log.sql.ts";

/** Characters that may wait for one reader; a slower one goes back to the log. */
const MAX_WAITING = 256 * 1024;

interface Subscription {
  /** Takes what has come, empties the queue. */
  take(): readonly EventRow[];
  /** The seq of the run's last event, once it has ended in this process. */
  endsAt(): number | undefined;
  /** Resolves at the next event or end, after `ms`, or when `signal` aborts. */
  changed(ms: number, signal?: AbortSignal): Promise<void>;
  close(): void;
}

export interface Hub {
  subscribe(runId: string): Subscription;
  /** Committed events of a run, in order. */
  publish(runId: string, events: readonly EventRow[]): void;
  /** The run's end is committed, and `lastSeq` was its last event. */
  end(runId: string, lastSeq: number): void;
  /** There may be something new in the log, or in the run's status. */
  wake(runId: string): void;
  /** Readers now, for tests and metrics. */
  size(): number;
}

interface Reader {
  queue: EventRow[];
  waiting: number;
  endsAt: number | undefined;
  dirty: boolean;
  notify: () => void;
}

export function createHub(): Hub {
  const readers = new Map<string, Set<Reader>>();

  const signalAll = (runId: string, change: (reader: Reader) => void) => {
    for (const reader of readers.get(runId) ?? []) {
      change(reader);
      reader.dirty = true;
      reader.notify();
    }
  };

  return {
    subscribe(runId) {
      const reader: Reader = {
        queue: [],
        waiting: 0,
        endsAt: undefined,
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
        async changed(ms, signal) {
          if (reader.dirty || signal?.aborted) return;
          const { promise, resolve } = Promise.withResolvers<void>();
          const timer = setTimeout(resolve, ms);
          reader.notify = resolve;
          signal?.addEventListener("abort", () => resolve(), { once: true });
          await promise;
          clearTimeout(timer);
          reader.notify = () => undefined;
        },
        close() {
          set.delete(reader);
          if (set.size === 0 && readers.get(runId) === set) readers.delete(runId);
        },
      };
    },
    publish(runId, events) {
      const size = events.reduce((sum, event) => sum + event.data.length, 0);
      signalAll(runId, (reader) => {
        if (reader.waiting + size > MAX_WAITING) {
          reader.queue = [];
          reader.waiting = 0;
        } else {
          reader.queue.push(...events);
          reader.waiting += size;
        }
      });
    },
    end: (runId, lastSeq) =>
      signalAll(runId, (reader) => {
        reader.endsAt = lastSeq;
      }),
    wake: (runId) => signalAll(runId, () => undefined),
    size: () => [...readers.values()].reduce((sum, set) => sum + set.size, 0),
  };
}
