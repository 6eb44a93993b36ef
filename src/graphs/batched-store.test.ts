import { AsyncBatchedStore, InMemoryStore } from "@langchain/langgraph-checkpoint";
import { expect, it, vi } from "vitest";
import { batchWhenAsked } from "./batched-store.ts";

batchWhenAsked();

const timers = () => process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;

it("a store that is asked nothing does nothing", async () => {
  const before = timers();
  const store = new AsyncBatchedStore(new InMemoryStore());
  store.start();
  expect(store.isRunning).toBe(true);
  await new Promise(setImmediate);
  expect(timers()).toBe(before);
  await store.stop();
  expect(store.isRunning).toBe(false);
});

it("what is asked in one moment is one batch, each with its own answer", async () => {
  const inner = new InMemoryStore();
  const batch = vi.spyOn(inner, "batch");
  const store = new AsyncBatchedStore(inner);
  store.start();
  await Promise.all([store.put(["a"], "one", { n: 1 }), store.put(["a"], "two", { n: 2 })]);
  const [one, two, found] = await Promise.all([
    store.get(["a"], "one"),
    store.get(["a"], "two"),
    store.search(["a"]),
  ]);
  expect([one?.value, two?.value, found.length]).toEqual([{ n: 1 }, { n: 2 }, 2]);
  expect(batch).toHaveBeenCalledTimes(2);
});

it("a batch that fails tells all who have asked, and the next one is not touched by it", async () => {
  const inner = new InMemoryStore();
  const store = new AsyncBatchedStore(inner);
  store.start();
  vi.spyOn(inner, "batch").mockRejectedValueOnce(new Error("away"));
  const results = await Promise.allSettled([store.get(["a"], "one"), store.get(["a"], "two")]);
  expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected"]);
  expect(await store.get(["a"], "one")).toBeNull();
});
