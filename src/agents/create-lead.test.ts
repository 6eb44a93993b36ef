import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { ScriptedModel, type ScriptedReply } from "../../test/helpers/scripted-model.ts";
import { createTestLead } from "../../test/helpers/test-lead.ts";
import { LEAD_PROMPT } from "./lead-prompt.ts";

const writes = (path: string): ScriptedReply => ({
  content: "I write.",
  tool_calls: [{ name: "write_file", args: { path, content: "text" } }],
});

describe("a turn of the lead agent", () => {
  test("costs one superstep before the agent, one after it, and none between model and tools", async () => {
    const lead = await createTestLead([writes("/mnt/user-data/outputs/a.md"), "Done."]);
    const checkpointer = new MemorySaver();
    lead.graph.checkpointer = checkpointer;
    const updates = (await lead.stream("Write.", "updates")) as object[];
    expect(updates.flatMap((update) => Object.keys(update))).toEqual([
      "chain.before_agent",
      "model_request",
      "tools",
      "model_request",
      "chain.after_agent",
    ]);
    let checkpoints = 0;
    for await (const _checkpoint of checkpointer.list({ configurable: { thread_id: lead.threadId } }))
      checkpoints++;
    expect(checkpoints).toBe(7);
  });

  test("writes no message a second time", async () => {
    const lead = await createTestLead([writes("/mnt/user-data/outputs/a.md"), "Done.", "Again."]);
    await lead.turn("Write.");
    const updates = (await lead.stream("More.", "updates")) as Record<string, { messages?: BaseMessage[] }>[];
    const counts = updates.map((update) => Object.values(update)[0]?.messages?.length ?? 0);
    expect(counts).toEqual([0, 1, 0]);
  });

  test("with tool calls writes its own messages, not the history once more", async () => {
    const lead = await createTestLead([
      { tool_calls: ["a", "b"].map((name) => ({ name: "write_file", args: { path: name, content: "" } })) },
      "Done.",
    ]);
    const checkpointer = new MemorySaver();
    const putWrites = checkpointer.putWrites.bind(checkpointer);
    let bytes = 0;
    checkpointer.putWrites = (config, writes, taskId) => {
      bytes += JSON.stringify(writes).length;
      return putWrites(config, writes, taskId);
    };
    lead.graph.checkpointer = checkpointer;
    const history = Array.from(
      { length: 200 },
      (_, index) => new HumanMessage(`${index} ${"x".repeat(1_000)}`),
    );
    await lead.graph.updateState({ configurable: { thread_id: lead.threadId } }, { messages: history });
    bytes = 0;
    await lead.turn("Write.");
    expect(bytes).toBeGreaterThan(1_000);
    expect(bytes).toBeLessThan(10_000);
  });

  test("gives the thread its paths and its title", async () => {
    const lead = await createTestLead(["Done."]);
    const { thread_data, title } = await lead.turn("Write a long report about the weather, if you please.");
    expect(thread_data?.outputs_path).toContain(lead.threadId);
    expect(title).toBe("A title");
  });
});

test("what a middleware keeps for itself is in the checkpoint, and in nothing that a client reads", async () => {
  const todos = [{ title: "Write", status: "pending" }];
  const lead = await createTestLead([
    { tool_calls: [{ name: "write_todos", args: { todos } }] },
    ..."abcdef",
  ]);
  const options = { context: { is_plan_mode: true } };
  const values = (await lead.stream("Write.", "values", options)) as object[];
  const updates = (await lead.stream("Go on.", "updates", options)) as object[];
  const shown = [...values, ...updates.flatMap(Object.values), await lead.state()];
  expect(shown.flatMap(Object.keys).filter((key) => key.startsWith("_"))).toEqual([]);
  expect(Object.keys(values.at(-1) ?? {})).toEqual(expect.arrayContaining(["messages", "todos", "title"]));
  const config = { configurable: { thread_id: lead.threadId } };
  const kept = await (lead.graph.checkpointer as MemorySaver).get(config);
  expect(kept?.channel_values._todo_reminders).toHaveLength(4);
});

describe("the model of a run", () => {
  test.each(["configurable", "context"])("is chosen by model_name in %s", async (place) => {
    const lead = await createTestLead(["first"], { others: { small: new ScriptedModel(["second"]) } });
    const { messages } = await lead.turn("Hi", { [place]: { model_name: "small" } });
    expect(messages.at(-1)?.text).toBe("second");
  });

  test("that is unknown ends the run with the names there are, before anything is done", async () => {
    const lead = await createTestLead(["first"]);
    await expect(lead.turn("Hi", { context: { model_name: "huge" } })).rejects.toThrow(
      'There is no model "huge"; there is scripted.',
    );
    expect(lead.model.requests).toHaveLength(0);
  });
});

test("the request begins with the standing rules and the tools, the same in every call", async () => {
  const lead = await createTestLead([writes("/mnt/user-data/outputs/a.md"), "Done.", "Again."]);
  await lead.turn("Write.");
  await lead.turn("More.");
  const starts = lead.model.requests.map(({ messages, tools }) => [messages[0]?.text, tools.join()]);
  expect(new Set(starts.map((start) => start.join("\n")))).toEqual(
    new Set([`${LEAD_PROMPT}\n${starts[0]?.[1]}`]),
  );
});

test("a long task ends at the recursion limit as an error, not as an answer", async () => {
  const lead = await createTestLead(() => writes("/mnt/user-data/outputs/a.md"), { recursionLimit: 10 });
  await expect(lead.turn("Write.")).rejects.toThrow(/Recursion limit of 10 reached/);
});

test("a run with everything that a client may send of its own keeps it", async () => {
  const lead = await createTestLead(["Done."]);
  const message = new HumanMessage({ id: "mine", content: "Hi", additional_kwargs: { client: "web" } });
  const { messages } = await lead.turn([message]);
  expect(messages[0]).toMatchObject({ id: "mine", additional_kwargs: { client: "web" } });
  expect(AIMessage.isInstance(messages[1])).toBe(true);
});
