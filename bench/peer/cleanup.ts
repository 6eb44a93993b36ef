// What must be gone when the benchmark ends, also when it is interrupted: processes and folders, in the opposite order
// of their making.
export interface Cleanup {
  /** To be called before there is anything to clean up, so that an interruption finds it. */
  add(undo: () => Promise<void> | void): void;
  /** Does it once, however often it is called. */
  run(): Promise<void>;
}

export function createCleanup(): Cleanup {
  const steps: (() => Promise<void> | void)[] = [];
  let done: Promise<void> | undefined;
  const undoAll = async () => {
    for (let step = steps.pop(); step; step = steps.pop()) {
      try {
        await step();
      } catch (error) {
        process.stderr.write(`not cleaned up: ${error}\n`);
      }
    }
  };
  const run = () => (done ??= undoAll());
  const interrupt = () => void run().then(() => process.exit(130));
  process.once("SIGINT", interrupt);
  process.once("SIGTERM", interrupt);
  return { add: (undo) => void steps.push(undo), run };
}
