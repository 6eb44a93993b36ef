import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { fuseMiddlewares } from "#kit";
import { ScriptedModel, type ScriptedReply } from "../test/helpers/scripted-model.ts";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createTodos } from "./todos.ts";

const plan = { configurable: { is_plan_mode: true } };
const todo = (title: string, status: string, id?: string) => ({ title, status, ...(id ? { id } : {}) });
const writes = (...todos: object[]): ScriptedReply => ({
  tool_calls: [{ name: "write_todos", args: { todos } }],
});

const createPlanner = (script: Parameters<typeof createTestAgent>[0]["script"]) =>
  createTestAgent({ middleware: [fuseMiddlewares("chain", [createTodos()])], script });

const texts = (messages: readonly BaseMessage[] = []) => messages.map(({ text }) => text);
const reminders = (messages: readonly BaseMessage[] = []) =>
  texts(messages).filter((text) => text.startsWith("<reminder>"));

describe("write_todos", () => {
  test("is offered only in plan mode, by configurable or by context", async () => {
    const { turn, model } = createPlanner(() => "hello");
    await turn("1");
    await turn("2", plan);
    await turn("3", { context: { is_plan_mode: true } });
    await turn("4", { configurable: { is_plan_mode: false } });
    expect(model.requests.map(({ tools }) => tools)).toEqual([[], ["write_todos"], ["write_todos"], []]);
  });

  test("stores the list in the document's shape, each entry with an id of its own", async () => {
    const { turn } = createPlanner([
      writes(
        todo("Read", "completed"),
        todo("Write", "completed", "w"),
        todo("Twice", "completed", "w"),
        todo("Test", "completed", "todo-1"),
      ),
      "done",
    ]);
    expect((await turn("go", plan)).todos).toEqual([
      { id: "todo-1", title: "Read", status: "completed" },
      { id: "w", title: "Write", status: "completed" },
      { id: "todo-5", title: "Twice", status: "completed" },
      { id: "todo-6", title: "Test", status: "completed" },
    ]);
  });

  test("replaces the former list", async () => {
    const { turn } = createPlanner([writes(todo("a", "completed")), writes(todo("b", "completed")), "done"]);
    expect((await turn("go", plan)).todos).toMatchObject([{ title: "b" }]);
  });

  test("called several times at once changes nothing and says why, for each call", async () => {
    const call = { name: "write_todos", args: { todos: [todo("a", "pending")] } };
    const { turn } = createPlanner([{ tool_calls: [call, call] }, "Sorry."]);
    const { todos, messages } = await turn("go", plan);
    expect(todos).toBeNull();
    const results = messages.filter((message) => ToolMessage.isInstance(message));
    expect(results.map(({ status }) => status)).toEqual(["error", "error"]);
    expect(results[1]?.text).toContain("2 times at once");
  });

  test("is refused outside plan mode even when the model calls it", async () => {
    const { turn } = createPlanner([writes(todo("a", "pending")), "Sorry."]);
    const { todos, messages } = await turn("go");
    expect(todos).toBeNull();
    expect(messages.at(-2)?.text).toContain("plan mode");
  });

  test("refuses a status that the document does not know", async () => {
    const { turn } = createPlanner([writes(todo("a", "done")), "Sorry."]);
    const { todos, messages } = await turn("go", plan);
    expect(todos).toBeNull();
    expect(messages.at(-2)).toMatchObject({ status: "error" });
  });
});

describe("a final answer with open todos", () => {
  const open = writes(todo("Read", "completed"), todo("Write", "in_progress"), todo("Test", "pending"));

  test("is sent back with the open ones named, and kept", async () => {
    const { turn, model } = createPlanner([
      open,
      "Done!",
      writes(todo("Write", "completed")),
      "Really done.",
    ]);
    const { messages, todos } = await turn("go", plan);
    const [reminder] = reminders(model.requests[2]?.messages);
    expect(reminder).toContain("- [in_progress] Write (todo-2)\n- [pending] Test (todo-3)\n");
    expect(reminder).not.toContain("Read");
    expect(texts(messages)).toContain("Done!");
    expect(reminders(messages)).toEqual([]);
    expect(messages.at(-1)?.text).toBe("Really done.");
    expect(todos).toMatchObject([{ status: "completed" }]);
  });

  test("is sent back at most twice, and then stands", async () => {
    const { turn, model } = createPlanner([open, "1", "2", "3"]);
    expect(texts((await turn("go", plan)).messages).slice(-3)).toEqual(["1", "2", "3"]);
    expect(model.requests.map(({ messages }) => reminders(messages).length)).toEqual([0, 0, 1, 2]);
  });

  test("is sent back twice again in the next turn", async () => {
    const { turn, model } = createPlanner([open, "1", "2", "3", "4", "5", "6"]);
    await turn("go", plan);
    await turn("go on", plan);
    expect(model.requests).toHaveLength(7);
  });

  test("stands outside plan mode, and when all is done", async () => {
    const { turn, model } = createPlanner([
      open,
      "1",
      "2",
      "3",
      "later",
      writes(todo("a", "completed")),
      "done",
    ]);
    await turn("go", plan);
    await turn("no plan");
    expect(model.requests).toHaveLength(5);
    await turn("finish", plan);
    expect(model.requests).toHaveLength(7);
  });

  test("keeps each reminder at its place, so that every request begins like the one before", async () => {
    const { turn, model } = createPlanner([open, "1", "2", "3", "4", "5", "6"]);
    await turn("go", plan);
    await turn("go on", plan);
    const requests = model.requests.map(({ messages }) => texts(messages));
    for (const [index, request] of requests.slice(1).entries()) {
      expect(request.slice(0, requests[index]?.length)).toEqual(requests[index]);
    }
  });

  test("is counted right by a server that was restarted in between", async () => {
    const first = createPlanner([open, "1", new Error("killed")]);
    await expect(first.turn("go", plan)).rejects.toThrow("killed");
    const second = createPlanner(new ScriptedModel(["2", "3"], { ids: "restarted" }));
    second.graph.checkpointer = first.graph.checkpointer;
    const { messages } = await second.turn(null, plan);
    expect(texts(messages).slice(-3)).toEqual(["1", "2", "3"]);
    expect(second.model.requests.map(({ messages }) => reminders(messages).length)).toEqual([1, 2]);
  });

  test("costs no superstep but the node that ends every turn", async () => {
    const { stream } = createPlanner([open, "1", "2", "3"]);
    const nodes = ((await stream("go", "updates", plan)) as object[]).flatMap((update) =>
      Object.keys(update),
    );
    expect(nodes.join(" ")).toBe(
      "model_request tools model_request chain.after_agent model_request chain.after_agent model_request chain.after_agent",
    );
  });
});
