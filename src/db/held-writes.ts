// The writes of a task mostly come just before the checkpoint that takes them in. They wait for it until the event loop
// turns, and are then stored with it: one statement and one commit for both. Otherwise they are stored by themselves.

/** Where a checkpoint lies, and the fencing token of the run that writes there. */
export interface Address {
  readonly threadId: string;
  readonly ns: string;
  readonly checkpointId: string | null;
  readonly fence: string | null;
}

/** A row of checkpoint_writes, without the checkpoint that it lies beside. */
export interface WriteRow {
  readonly taskId: string;
  readonly idx: number;
  readonly channel: string;
  readonly type: string | null;
  readonly blob: Buffer | null;
}

export const toColumns = (rows: readonly WriteRow[]) => [
  rows.map((row) => row.taskId),
  rows.map((row) => row.idx),
  rows.map((row) => row.channel),
  rows.map((row) => row.type),
  rows.map((row) => row.blob),
];

interface Held {
  readonly rows: readonly WriteRow[];
  /** What became of them. */
  resolve(): void;
  reject(error: unknown): void;
}

export interface HeldWrites {
  /** Resolves when they are stored, one way or the other. */
  hold(place: Address, rows: readonly WriteRow[]): Promise<void>;
  /** Whatever waits beside a checkpoint. Who takes it must say what became of it. */
  take(place: Address): Held | undefined;
}

export function createHeldWrites(
  store: (place: Address, rows: readonly WriteRow[]) => Promise<void>,
): HeldWrites {
  const waiting = new Map<string, PromiseWithResolvers<void> & { rows: WriteRow[] }>();
  const keyOf = ({ threadId, fence, ns, checkpointId }: Address) =>
    JSON.stringify([threadId, fence, ns, checkpointId]);

  const take = (place: Address) => {
    const held = waiting.get(keyOf(place));
    waiting.delete(keyOf(place));
    return held;
  };
  return {
    hold(place, rows) {
      const before = waiting.get(keyOf(place));
      if (before) {
        before.rows.push(...rows);
        return before.promise;
      }
      const held = { ...Promise.withResolvers<void>(), rows: [...rows] };
      waiting.set(keyOf(place), held);
      setImmediate(() => {
        if (waiting.get(keyOf(place)) !== held) return;
        take(place);
        store(place, held.rows).then(held.resolve, held.reject);
      });
      return held.promise;
    },
    take,
  };
}
