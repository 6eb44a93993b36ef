// Named checkpoints that a run makes by itself, as its configuration says (document 003, §8: throttle them).
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { hasRedis, startRedis } from "../helpers/redis.ts";
import { createCaller } from "./caller.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/checkpoints/langgraph.json");
let heddle: TestApp;
let call: ReturnType<typeof createCaller>;
beforeAll(async () => {
  heddle = await startApp({ graphs: GRAPHS });
  call = createCaller(heddle.url);
});
afterAll(() => heddle.close());

async function count(to: number, checkpoint_frequency?: object, app = heddle) {
  const { thread_id } = await app.client.threads.create();
  await app.client.runs.wait(thread_id, "count", {
    input: { to },
    config: { configurable: { checkpoint_frequency } },
  });
  return thread_id;
}

describe("checkpoint_frequency", () => {
  it("makes none when it is not asked for", async () => {
    expect(await call.list(await count(3))).toEqual([]);
  });

  it("every so many steps makes one of each such step, with its metadata", async () => {
    const id = await count(7, { every_steps: 3, metadata: { user: "alice" } });
    const made = await Promise.all(
      (await call.list(id)).map(({ checkpoint_id }) => call.get(id, checkpoint_id)),
    );
    expect(
      made.map(({ iteration_count, shared_state, trigger }) => [iteration_count, shared_state.at, trigger]),
    ).toEqual([
      [6, 6, "steps"],
      [3, 3, "steps"],
    ]);
    expect(made[0]?.metadata).toEqual({ user: "alice" });
    await call.restore(id, made[1]?.checkpoint_id ?? "");
    expect(await heddle.client.runs.wait(id, "count", { input: null })).toEqual({ at: 7, to: 7 });
  });

  it("keeps the newest, and those that were asked for", async () => {
    const id = await count(2);
    const { checkpoint_id } = await call.create(id);
    await heddle.client.runs.wait(id, "count", {
      input: { at: 0, to: 6 },
      config: { configurable: { checkpoint_frequency: { every_steps: 1, keep: 2 } } },
    });
    const listed = await call.list(id);
    expect(listed.map(({ trigger }) => trigger)).toEqual(["steps", "steps", "request"]);
    expect(listed[2]?.checkpoint_id).toBe(checkpoint_id);
  });

  it("on an interrupt is there as soon as the run has ended; an assistant may ask for it", async () => {
    const assistant = await heddle.client.assistants.create({
      graphId: "order",
      config: { configurable: { checkpoint_frequency: { on_interrupt: true } } },
    });
    const { thread_id } = await heddle.client.threads.create();
    await heddle.client.runs.wait(thread_id, assistant.assistant_id, { input: { items: ["bolt"] } });
    const [made] = await call.list(thread_id);
    expect(made?.trigger).toBe("interrupt");
    await call.restore(thread_id, made?.checkpoint_id ?? "");
    const values = await heddle.client.runs.wait(thread_id, "order", { command: { resume: "yes" } });
    expect(values).toMatchObject({ status: "yes, shipped" });
  });

  it("on a timer saves what has changed since the last time", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const run = await heddle.client.runs.create(thread_id, "order", {
      input: { items: ["gate frequency"] },
      config: { configurable: { checkpoint_frequency: { every_seconds: 1 } } },
    });
    await expect.poll(() => call.list(thread_id), { timeout: 10_000 }).toMatchObject([{ trigger: "timer" }]);
    await heddle.client.runs.cancel(thread_id, run.run_id, true);
  });

  it("that cannot be followed makes no run, and names what is wrong", async () => {
    for (const [asked, reason] of [
      [{ every_steps: 0 }, "config.configurable.checkpoint_frequency.every_steps"],
      [{ often: true }, "often"],
      [{ storage: "floppy" }, 'There is no storage "floppy"'],
    ] as const) {
      const { thread_id } = await heddle.client.threads.create();
      const config = { configurable: { checkpoint_frequency: asked } };
      const creating = heddle.client.runs.create(thread_id, "count", { input: { to: 1 }, config });
      await expect(creating).rejects.toThrow(reason);
      await expect(creating).rejects.toMatchObject({ status: 422 });
      expect(await heddle.client.runs.list(thread_id)).toEqual([]);
    }
  });

  it("of an assistant that cannot be followed is its runs' error", async () => {
    const config = { configurable: { checkpoint_frequency: { often: true } } };
    const { assistant_id } = await heddle.client.assistants.create({ graphId: "count", config });
    await expect(heddle.client.runs.wait(null, assistant_id, { input: { to: 1 } })).rejects.toThrow("often");
  });
});

describe.skipIf(!hasRedis)("with Redis", () => {
  it("checkpoints lie there, outlive the server, and go with their thread", async () => {
    const redis = await startRedis();
    const env = { REDIS_URL: redis.url };
    const first = await startApp({ graphs: GRAPHS, env });
    const id = await count(3, { every_steps: 3, storage: "redis" }, first);
    await first.client.runs.wait(id, "count", { input: { at: 0, to: 1 } });
    const second = await startApp({ graphs: GRAPHS, env, beside: first });
    const there = createCaller(second.url);
    expect(await there.list(id)).toEqual([]);
    // The thread keeps the configuration: the second run has made one as well.
    const made = (await there.list(id, "?storage=redis")).at(-1);
    await there.restore(id, made?.checkpoint_id ?? "", { storage: "redis" });
    expect((await second.client.threads.getState(id)).values).toEqual({ at: 3, to: 3 });
    await second.client.threads.delete(id);
    const { thread_id } = await second.client.threads.create({ threadId: id });
    expect(await there.list(thread_id, "?storage=redis")).toEqual([]);
    await second.close();
    await redis.close();
    expect(
      await createCaller(first.url).send("GET", `/threads/${id}/checkpoints?storage=redis`),
    ).toMatchObject({
      status: 503,
      body: { error: { code: "storage_unavailable" } },
    });
    // Threads come and go without it.
    const { thread_id: other } = await first.client.threads.create();
    await first.client.threads.delete(other);
    await expect(first.client.threads.get(other)).rejects.toThrow("404");
    await first.close();
  });
});
