import { expect, it, vi } from "vitest";
import { createGate } from "./gate.ts";

const never = new AbortController().signal;

it("lets as many through at once as it is wide, the others in order", async () => {
  const gate = createGate(2);
  const started: number[] = [];
  const ends = Array.from({ length: 5 }, () => Promise.withResolvers<void>());
  const works = ends.map((end, index) =>
    gate.pass(never, async () => {
      started.push(index);
      await end.promise;
      return index;
    }),
  );
  await Promise.resolve();
  expect(started).toEqual([0, 1]);
  ends[1]?.resolve();
  expect(await works[1]).toBe(1);
  await vi.waitFor(() => expect(started).toEqual([0, 1, 2]));
  for (const end of ends) end.resolve();
  expect(await Promise.all(works)).toEqual([0, 1, 2, 3, 4]);
});

it("passes the place on when a work fails", async () => {
  const gate = createGate(1);
  const failed = gate.pass(never, () => Promise.reject(new Error("no")));
  const next = gate.pass(never, async () => "yes");
  await expect(failed).rejects.toThrow("no");
  expect(await next).toBe("yes");
});

it("lets whoever gives up through at once, and takes no place for it", async () => {
  const gate = createGate(1);
  const end = Promise.withResolvers<void>();
  const first = gate.pass(never, () => end.promise);
  const controller = new AbortController();
  const second = gate.pass(controller.signal, async () => "gave up");
  const third = gate.pass(never, async () => "had its turn");
  controller.abort();
  expect(await second).toBe("gave up");
  end.resolve();
  await first;
  expect(await third).toBe("had its turn");
});
