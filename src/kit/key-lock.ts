// Lets one caller at a time work on one key, in the order of asking. In this process only: what must hold between
// servers is PostgreSQL's to keep.

export interface KeyLock {
  /** Runs `work` when all earlier work on `key` has ended, however it ended. */
  run<T>(key: string, work: () => Promise<T>): Promise<T>;
}

export function createKeyLock(): KeyLock {
  const last = new Map<string, Promise<unknown>>();
  return {
    async run(key, work) {
      const before = last.get(key) ?? Promise.resolve();
      const mine = before.then(work, work);
      // The stored promise never rejects, so that a failure reaches its own caller only.
      const settled = mine.then(
        () => undefined,
        () => undefined,
      );
      last.set(key, settled);
      try {
        return await mine;
      } finally {
        if (last.get(key) === settled) last.delete(key);
      }
    },
  };
}
