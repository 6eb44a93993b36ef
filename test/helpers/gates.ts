// Lets a test hold a run at a point and let it go on, without sleeping. Shared through the global object, because the
// server imports its graphs by path, apart from the test's own modules.
interface Gate {
  readonly reached: PromiseWithResolvers<void>;
  readonly opened: PromiseWithResolvers<void>;
}

const KEY = Symbol.for("heddle.test.gates");
const store = globalThis as unknown as Record<symbol, Map<string, Gate>>;
store[KEY] ??= new Map();
const gates = store[KEY];

function gate(name: string): Gate {
  const found = gates.get(name) ?? {
    reached: Promise.withResolvers<void>(),
    opened: Promise.withResolvers<void>(),
  };
  gates.set(name, found);
  return found;
}

/** In a graph: says that the gate is reached and waits until the test opens it, or until the run is stopped. */
export async function passGate(name: string, signal?: AbortSignal): Promise<void> {
  gate(name).reached.resolve();
  const { promise: stopped, reject } = Promise.withResolvers<never>();
  signal?.addEventListener("abort", () => reject(signal.reason), { once: true });
  await Promise.race([gate(name).opened.promise, stopped]);
}

/** In a test: resolves when a run has reached the gate. */
export const gateReached = (name: string): Promise<void> => gate(name).reached.promise;

/** In a test: lets the run go on. */
export const openGate = (name: string): void => gate(name).opened.resolve();
