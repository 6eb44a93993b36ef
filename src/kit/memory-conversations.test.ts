import { expect, it } from "vitest";
import { conversationOf } from "./conversation.ts";
import { createMemoryConversations } from "./memory-conversations.ts";

const open = (runId = "run") => createMemoryConversations()({ threadId: "thread", runId });

it("starts at version 0, with an objective that nobody has set", async () => {
  expect(await open().read()).toEqual({ values: { objective: "" }, version: 0 });
});

it("merges each key by its handler: insights and discoveries grow, each once; others are replaced; null clears", async () => {
  const conversation = open();
  const claim = { claim: "x", evidence: [{ taskId: "1" }] };
  await conversation.patch({ keyInsights: ["a", "b"], discoveries: [claim], methodology: "m", plan: [] });
  const task = { objective: "o", type: "ANALYSIS" as const, id: "1" };
  await conversation.patch({
    keyInsights: ["b", "c"],
    discoveries: [claim],
    plan: [task],
    methodology: null,
  });
  const { values, version } = await conversation.read();
  expect(version).toBe(2);
  expect(values).toEqual({
    objective: "",
    keyInsights: ["a", "b", "c"],
    discoveries: [claim],
    plan: [task],
  });
});

it.each([
  [{ keyInsight: ["a"] }, "keyInsight"],
  [{ keyInsights: "a" }, "values.keyInsights"],
  [{ plan: [{ objective: "x", type: "OTHER" }] }, "values.plan.0.type"],
  [{ objective: null }, "values.objective"],
  [{ deepResearchRun: { isRunning: true } }, "values.deepResearchRun"],
  [{}, "no key"],
])("refuses %j, and names what is wrong", async (patch, named) => {
  await expect(open().patch(patch as object)).rejects.toMatchObject({
    code: "invalid_request",
    message: expect.stringContaining(named),
  });
});

it("refuses a change that was made of an older version, and says which is current", async () => {
  const conversation = open();
  await conversation.patch({ methodology: "a" }, { version: 0 });
  await expect(conversation.patch({ methodology: "b" }, { version: 0 })).rejects.toMatchObject({
    code: "version_conflict",
    details: { version: 1 },
  });
});

it("keeps all of what parallel tasks change of one list", async () => {
  const conversation = open();
  const ids = Array.from({ length: 20 }, (_, i) => String(i));
  await conversation.patch({ plan: ids.map((id) => ({ id, objective: id, type: "ANALYSIS" })) });
  await Promise.all(
    ids.map((id) =>
      conversation.change(({ plan = [] }) => ({
        plan: plan.map((task) => (task.id === id ? { ...task, output: `of ${id}` } : task)),
      })),
    ),
  );
  const { plan = [] } = (await conversation.read()).values;
  expect(plan.map(({ output }) => output)).toEqual(ids.map((id) => `of ${id}`));
});

it("gives away nothing that could be changed from outside", async () => {
  const conversation = open();
  const insights = ["a"];
  await conversation.patch({ keyInsights: insights });
  insights.push("b");
  (await conversation.read()).values.keyInsights?.push("c");
  expect((await conversation.read()).values.keyInsights).toEqual(["a"]);
});

it("notes the start of a step, and its end once it has returned", async () => {
  const conversation = open();
  await conversation.step("done", async () => undefined);
  await expect(conversation.step("failed", () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const { steps } = (await conversation.readMessage()).values;
  expect(steps).toEqual({
    done: { start: expect.any(Number), end: expect.any(Number) },
    failed: { start: expect.any(Number) },
  });
});

it("is one for all runs of a thread, with a message for each", async () => {
  const fallback = createMemoryConversations();
  const [first, second] = ["1", "2"].map((run_id) =>
    conversationOf({ configurable: { thread_id: "thread", run_id } }, fallback),
  );
  await first?.patch({ methodology: "shared" });
  await first?.patchMessage({ thought: "of the first" });
  expect((await second?.read())?.values.methodology).toBe("shared");
  expect((await second?.readMessage())?.values).toEqual({ messageId: "2", conversationId: "thread" });
});
