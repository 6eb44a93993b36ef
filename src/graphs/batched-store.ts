// LangGraph puts the store of each run, and of each graph within it, into an AsyncBatchedStore, which looks every
// millisecond whether something has been asked of it. Ten runs that wait for their models then keep a core 5 % busy, and
// each run ends a millisecond later. Here it looks when something is asked.
import { AsyncBatchedStore, type BaseStore } from "@langchain/langgraph-checkpoint";

type Asked = Parameters<BaseStore["batch"]>[0][number];

/** What the class keeps to itself, in the version that package.json pins. */
interface Inner {
  readonly store: BaseStore;
  running: boolean;
  start(): void;
  stop(): Promise<void>;
  enqueueOperation(operation: Asked): Promise<unknown>;
}

interface Waiting extends PromiseWithResolvers<unknown> {
  readonly operation: Asked;
}

/** From now on, for all graphs of this process: what is asked in one turn of the event loop is one batch. */
export function batchWhenAsked(): void {
  const prototype = AsyncBatchedStore.prototype as unknown as Inner;
  const waiting = new WeakMap<Inner, Waiting[]>();
  const send = async (batched: Inner) => {
    const asked = waiting.get(batched) ?? [];
    waiting.delete(batched);
    try {
      const results = await batched.store.batch(asked.map(({ operation }) => operation));
      for (const [place, { resolve }] of asked.entries()) resolve(results[place]);
    } catch (error) {
      for (const { reject } of asked) reject(error);
    }
  };
  prototype.start = function () {
    this.running = true;
  };
  prototype.stop = async function () {
    this.running = false;
  };
  prototype.enqueueOperation = function (operation) {
    const one = { ...Promise.withResolvers<unknown>(), operation };
    const before = waiting.get(this);
    if (before) before.push(one);
    else {
      waiting.set(this, [one]);
      setImmediate(() => void send(this));
    }
    return one.promise;
  };
}
