// What a step stores comes in parts: the writes of its tasks, and, when the graph begins, its input, just before the
// checkpoint that takes them in. They wait for it until the event loop turns, and are then stored with it: one statement
// and one commit for all. Otherwise they are stored by themselves.

/** Where a checkpoint lies, and the fencing token of the run that writes there. */
export interface Address {
  readonly threadId: string;
  readonly ns: string;
  readonly checkpointId: string | null;
  readonly fence: string | null;
}

interface CheckpointRow {
  readonly id: string;
  readonly parentId: string | null;
  readonly checkpoint: string;
  readonly metadata: string;
}

interface BlobRow {
  readonly channel: string;
  readonly version: string;
  readonly type: string;
  readonly blob: Buffer | null;
}

export interface WriteRow {
  readonly checkpointId: string;
  readonly taskId: string;
  readonly idx: number;
  readonly channel: string;
  readonly type: string | null;
  readonly blob: Buffer | null;
}

/** Rows of one thread and namespace, checkpoints in their order. */
export interface Batch {
  readonly checkpoints: readonly CheckpointRow[];
  readonly blobs: readonly BlobRow[];
  readonly writes: readonly WriteRow[];
}

type Store = (place: Address, batch: Batch) => Promise<void>;

interface Held extends PromiseWithResolvers<void> {
  readonly place: Address;
  batch: Batch;
}

export interface HeldBatches {
  /** `place`: of the checkpoint that the next one will name as its parent. Resolves when it is stored, one way or the other. */
  hold(place: Address, batch: Batch): Promise<void>;
  /** Stores a batch that follows `parent`, with what waits there and after what is on its way from there. */
  follow(parent: Address, batch: Batch): Promise<void>;
  /** Resolves when the run has nothing left to store. @throws what has kept a checkpoint from being stored */
  settle(run: Pick<Address, "threadId" | "fence">): Promise<void>;
}

export function createHeldBatches(store: Store): HeldBatches {
  const waiting = new Map<string, Held>();
  /** Checkpoints that did not wait any longer: until they are stored, and those that could not be until the run's end. */
  const sent = new Map<string, Held>();
  const keyOf = ({ threadId, fence, ns, checkpointId }: Address) =>
    JSON.stringify([threadId, fence, ns, checkpointId]);

  const send = async (held: Held) => {
    const key = keyOf(held.place);
    waiting.delete(key);
    if (held.batch.checkpoints.length > 0) sent.set(key, held);
    await store(held.place, held.batch).then(held.resolve, held.reject);
    await held.promise;
    sent.delete(key);
  };
  return {
    hold(place, batch) {
      const before = waiting.get(keyOf(place));
      if (before) {
        before.batch = join(before.batch, batch);
        return before.promise;
      }
      const held = { ...Promise.withResolvers<void>(), place, batch };
      waiting.set(keyOf(place), held);
      setImmediate(() => {
        // Who waits for it is told.
        if (waiting.get(keyOf(place)) === held) send(held).catch(() => undefined);
      });
      return held.promise;
    },
    async follow(parent, batch) {
      const key = keyOf(parent);
      await sent.get(key)?.promise;
      const held = waiting.get(key);
      waiting.delete(key);
      const stored = store(parent, held ? join(held.batch, batch) : batch);
      if (held) stored.then(held.resolve, held.reject);
      await stored;
    },
    async settle({ threadId, fence }) {
      const own = [...waiting.values(), ...sent.values()].filter(
        ({ place }) => place.threadId === threadId && place.fence === fence,
      );
      const ends = await Promise.allSettled(own.map((held) => held.promise));
      for (const { place } of own) sent.delete(keyOf(place));
      for (const end of ends) if (end.status === "rejected") throw end.reason;
    },
  };
}

const join = (first: Batch, second: Batch): Batch => ({
  checkpoints: [...first.checkpoints, ...second.checkpoints],
  blobs: [...first.blobs, ...second.blobs],
  writes: [...first.writes, ...second.writes],
});
