// Lets a bounded number of works go on at once; the others wait in the order of coming.

export interface Gate {
  /** Runs `work` when there is room, or at once when `signal` aborts: then it is `work` that gives up. */
  pass<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T>;
}

export function createGate(width: number): Gate {
  const waiting: (() => void)[] = [];
  let free = width;

  async function enter(signal: AbortSignal): Promise<boolean> {
    if (free > 0) {
      free -= 1;
      return true;
    }
    const turn = Promise.withResolvers<boolean>();
    const onTurn = () => turn.resolve(true);
    const onAbort = () => {
      const index = waiting.indexOf(onTurn);
      if (index === -1) return;
      waiting.splice(index, 1);
      turn.resolve(false);
    };
    waiting.push(onTurn);
    signal.addEventListener("abort", onAbort, { once: true });
    if (signal.aborted) onAbort();
    return turn.promise.finally(() => signal.removeEventListener("abort", onAbort));
  }

  return {
    async pass(signal, work) {
      const hasPlace = await enter(signal);
      try {
        return await work();
      } finally {
        const next = hasPlace ? waiting.shift() : undefined;
        if (next !== undefined) next();
        else if (hasPlace) free += 1;
      }
    },
  };
}
