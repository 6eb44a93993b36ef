// Hands values from a test to a graph that the server runs in this process: what a tool or a model comes up with. Shared
// through the global object, as gates.ts does.
const KEY = Symbol.for("heddle.test.handed");
const store = globalThis as unknown as Record<symbol, Map<string, unknown>>;
store[KEY] ??= new Map();
const values = store[KEY];

/** In a test: keeps the value under a name. */
export const hand = (name: string, value: unknown): void => void values.set(name, value);

/** In a graph: what the test has handed over. */
export const handed = (name: string): unknown => values.get(name);
