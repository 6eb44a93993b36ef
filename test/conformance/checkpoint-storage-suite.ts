// What every storage of named checkpoints must do, as tests: the recipes 6.1 to 6.3 of document 003, and what is wrong in
// them.
import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { CheckpointBackend, CheckpointStorage } from "../../src/checkpoints/storage.ts";
import type { WorkflowCheckpoint } from "../../src/checkpoints/workflow-checkpoint.ts";

export interface StorageSetting {
  readonly backend: CheckpointBackend;
  /** An id for which the storage may keep checkpoints. */
  newThread(): Promise<string>;
  /** As the server does when it deletes one. */
  removeThread(threadId: string): Promise<void>;
  /** Puts a text in the place of a checkpoint that is stored. Undefined where nobody else can reach it. */
  readonly damage?: (threadId: string, checkpointId: string, text: string) => Promise<void>;
  /** Keeps the storage from answering. Undefined where nothing can. */
  readonly disconnect?: () => Promise<void>;
  close(): Promise<void>;
}

let clock = Date.parse("2026-01-01T00:00:00Z");

/** One after the other in time. */
export function aCheckpoint(change: Partial<WorkflowCheckpoint> = {}): WorkflowCheckpoint {
  clock += 1_000;
  return {
    version: 1,
    checkpoint_id: randomUUID(),
    workflow_id: "order-tracking",
    messages: { executorA: [{ task_id: "t", payload: { n: 1 } }], executorB: [] },
    shared_state: { orders: [1, 2], status: "awaiting-approval" },
    executor_states: {
      executorB: { chat_history: [{ role: "tool", contents: ["é\u2028😀"] }], request_ids: [] },
    },
    iteration_count: 4,
    metadata: { user: "alice" },
    created_at: new Date(clock).toISOString(),
    trigger: "request",
    thread_id: randomUUID(),
    graph_id: "order",
    langgraph_checkpoint_id: randomUUID(),
    config: {},
    topology: { version: "v", executors: { executorA: ["executorB?"] } },
    snapshot: [],
    ...change,
  };
}

export function describeStorage(name: string, start: () => Promise<StorageSetting>): void {
  describe(`checkpoints in ${name}`, () => {
    let setting: StorageSetting;
    let threadId: string;
    let storage: CheckpointStorage;
    beforeAll(async () => {
      setting = await start();
    });
    afterAll(() => setting.close());
    beforeEach(async () => {
      threadId = await setting.newThread();
      storage = setting.backend.open({ threadId });
    });
    const save = async (change?: Partial<WorkflowCheckpoint>) => {
      const checkpoint = aCheckpoint(change);
      await storage.save(checkpoint);
      return checkpoint;
    };

    it("come back as they were, to the last character", async () => {
      const saved = await save({ metadata: { nul: "\0", odd: "\\u0000", deep: [[{}]], big: 2 ** 53 } });
      expect(await storage.load(saved.checkpoint_id)).toEqual(saved);
    });

    it("are missing as undefined and false, not as an error", async () => {
      expect(await storage.load(randomUUID())).toBeUndefined();
      expect(await storage.delete(randomUUID())).toBe(false);
      expect(await storage.listIds()).toEqual([]);
      expect(await storage.list({ workflowId: "never" })).toEqual([]);
    });

    it("are listed from the newest to the oldest, all or one workflow's, page by page", async () => {
      const saved = [await save(), await save({ workflow_id: "other" }), await save()];
      const [first, other, last] = saved.map(({ checkpoint_id }) => checkpoint_id);
      expect(await storage.listIds()).toEqual([last, other, first]);
      expect(await storage.listIds({ workflowId: "order-tracking" })).toEqual([last, first]);
      expect(await storage.list()).toEqual(saved.toReversed());
      expect(await storage.list({ workflowId: "order-tracking", limit: 1, offset: 1 })).toEqual([saved[0]]);
      expect(await storage.list({ limit: 0 })).toEqual([]);
    });

    it("do not list what only looks like one: an id or a workflow may have any name", async () => {
      const saved = await save({ workflow_id: "wf:_" });
      await save({ workflow_id: "" });
      expect(await storage.listIds({ workflowId: "wf:_" })).toEqual([saved.checkpoint_id]);
      expect(await storage.listIds()).toHaveLength(2);
    });

    it("are gone from every list when they are deleted, and once only", async () => {
      const { checkpoint_id } = await save();
      expect(await storage.delete(checkpoint_id)).toBe(true);
      expect(await storage.delete(checkpoint_id)).toBe(false);
      expect(await storage.listIds({ workflowId: "order-tracking" })).toEqual([]);
      expect(await storage.list()).toEqual([]);
    });

    it("saved again are replaced, and of the new workflow only", async () => {
      const saved = await save();
      const again = { ...saved, workflow_id: "moved", iteration_count: 5 };
      await storage.save(again);
      expect(await storage.list()).toEqual([again]);
      expect(await storage.listIds({ workflowId: "order-tracking" })).toEqual([]);
      expect(await storage.listIds({ workflowId: "moved" })).toEqual([saved.checkpoint_id]);
    });

    it("are copies: what happens to them outside does not change what is kept", async () => {
      const saved = await save();
      const kept = structuredClone(saved);
      saved.metadata.user = "mallory";
      const loaded = await storage.load(saved.checkpoint_id);
      if (loaded) loaded.shared_state.status = "changed";
      expect(await storage.load(saved.checkpoint_id)).toEqual(kept);
    });

    it("of one thread are not seen through another's storage", async () => {
      const { checkpoint_id } = await save();
      const other = setting.backend.open({ threadId: await setting.newThread() });
      expect(await other.load(checkpoint_id)).toBeUndefined();
      expect(await other.delete(checkpoint_id)).toBe(false);
      expect(await other.list()).toEqual([]);
      expect(await storage.listIds()).toEqual([checkpoint_id]);
    });

    it("that nobody has asked for can be told from the others", async () => {
      await save();
      const { checkpoint_id } = await save({ trigger: "steps" });
      expect(await storage.listIds({ isAutomatic: true })).toEqual([checkpoint_id]);
    });

    it("saved at once are all there", async () => {
      const saved = await Promise.all(Array.from({ length: 20 }, () => save()));
      expect((await storage.listIds()).sort()).toEqual(
        saved.map(({ checkpoint_id }) => checkpoint_id).sort(),
      );
    });

    it("of a thread that is gone are gone, and no one else's", async () => {
      await save();
      const other = setting.backend.open({ threadId: await setting.newThread() });
      const theirs = aCheckpoint();
      await other.save(theirs);
      await setting.removeThread(threadId);
      expect(await storage.listIds()).toEqual([]);
      expect(await other.listIds()).toEqual([theirs.checkpoint_id]);
    });

    it("of an older version have its defaults; a newer or broken one says so", async ({ skip }) => {
      const { damage } = setting;
      if (!damage) return skip();
      const { checkpoint_id: id, messages, metadata, version, ...older } = await save();
      const putText = (value: object) => damage(threadId, id, JSON.stringify(value));
      await putText({ ...older, checkpoint_id: id });
      expect(await storage.load(id)).toMatchObject({ messages: {}, metadata: {}, version: 1 });
      await putText({ ...older, checkpoint_id: id, version: 2 });
      await expect(storage.load(id)).rejects.toThrow("it has version 2, this server knows 1");
      await putText({ version: 1 });
      await expect(storage.load(id)).rejects.toThrow("checkpoint_id");
    });

    it("are not called missing while the storage does not answer", async ({ skip }) => {
      const { disconnect } = setting;
      if (!disconnect) return skip();
      const { checkpoint_id } = await save();
      await disconnect();
      await expect(storage.load(checkpoint_id)).rejects.toThrow();
      await expect(storage.delete(checkpoint_id)).rejects.toThrow();
      await expect(storage.list()).rejects.toThrow();
      await expect(storage.save(aCheckpoint())).rejects.toThrow();
    });
  });
}
