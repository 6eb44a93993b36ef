import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { stateAfter } from "../../test/helpers/state-after.ts";
import { defineState } from "./define-state.ts";
import { ThreadState } from "./thread-state.ts";

const writes = (...updates: Record<string, unknown>[]) =>
  stateAfter<ThreadState>(new StateGraph(ThreadState.graphSchema), updates);

/** The structures that document 000 shows under "State Fields". */
const examples = {
  sandbox: { sandbox_id: "local" },
  thread_data: {
    workspace_path: "threads/t/user-data/workspace",
    uploads_path: "threads/t/user-data/uploads",
    outputs_path: "threads/t/user-data/outputs",
  },
  title: "Quarterly figures",
  artifacts: ["/mnt/user-data/outputs/report.md"],
  todos: [
    { id: "todo-1", title: "Read configuration files", status: "completed" },
    { id: "todo-2", title: "Implement authentication logic", status: "in_progress" },
    { id: "todo-3", title: "Write unit tests", status: "pending" },
  ],
  uploaded_files: [
    { filename: "report.pdf", size: 1048576, path: "/mnt/user-data/uploads/report.pdf", extension: ".pdf" },
  ],
  viewed_images: {
    "/mnt/user-data/uploads/diagram.png": { base64: "iVBORw0KGgoAAAANSUhEUgA...", mime_type: "image/png" },
    "/mnt/user-data/workspace/screenshot.jpg": {
      base64: "/9j/4AAQSkZJRgABAQEAY...",
      mime_type: "image/jpeg",
    },
  },
} as const;

describe("the state of document 000", () => {
  test("has its keys, and no other beside messages", () => {
    expect(Object.keys(ThreadState.schema.fields)).toEqual(Object.keys(examples));
  });

  test.each(Object.entries(examples))("stores %s in the document's shape, unchanged", async (key, value) => {
    expect(await writes({ [key]: value })).toMatchObject({ [key]: value });
  });

  test("keeps fields it does not know, so that an older server loses nothing", async () => {
    const todos = [{ id: "1", title: "a", status: "pending" as const, owner: "later version" }];
    expect((await writes({ todos })).todos).toEqual(todos);
  });

  test("gathers artifacts over the turns and drops doubles, even within the first write", async () => {
    const state = await writes({ artifacts: ["b", "b"] }, { artifacts: ["a"] }, { artifacts: ["b", "c"] });
    expect(state.artifacts).toEqual(["b", "a", "c"]);
  });

  test("clears viewed images by an empty record, and keeps them empty when that is written back", async () => {
    const { viewed_images } = examples;
    expect(
      (await writes({ viewed_images }, { viewed_images: {} }, { viewed_images: {} })).viewed_images,
    ).toEqual({});
  });

  test.each(["title", "todos", "uploaded_files", "sandbox", "thread_data"] as const)(
    "replaces %s, and clears it by null",
    async (key) => {
      expect((await writes({ [key]: examples[key] }, { [key]: null }))[key]).toBeNull();
    },
  );

  test.each([
    ["todos", [{ id: "1", title: "a", status: "done" }]],
    ["artifacts", "report.md"],
    ["viewed_images", { "a.png": "base64" }],
    ["uploaded_files", [{ filename: "a" }]],
  ])("refuses %s of another shape and names the key", async (key, value) => {
    await expect(writes({ [key]: value })).rejects.toThrow(`"${key}"`);
  });
});

describe("the patterns of document 000", () => {
  test("a tool may write back all artifacts with its own added, and none doubles", async () => {
    const current = ["/mnt/user-data/outputs/a.md"];
    const state = await writes(
      { artifacts: current },
      { artifacts: [...current, "/mnt/user-data/outputs/b.md"] },
    );
    expect(state.artifacts).toEqual(["/mnt/user-data/outputs/a.md", "/mnt/user-data/outputs/b.md"]);
  });

  test("a handler of one's own gets nothing as null, and its answer is what the key holds", async () => {
    const mergeMyField = (existing: string[] | null | undefined, added: string[] | null | undefined) => {
      if (!existing) return added ?? [];
      return added ? [...new Set([...existing, ...added])].sort() : existing;
    };
    const My = defineState({ my_field: { type: z.array(z.string()), handler: mergeMyField } });
    const graph = new StateGraph(My.graphSchema);
    const updates = [{ my_field: ["b"] }, { my_field: null }, { my_field: ["c", "a", "b"] }];
    expect(await stateAfter(graph, updates)).toMatchObject({ my_field: ["a", "b", "c"] });
  });

  test("each thread has a state of its own", async () => {
    const graph = new StateGraph(ThreadState.graphSchema)
      .addNode("name_it", (state) => ({ title: state.title ?? state.messages[0]?.text }))
      .addEdge(START, "name_it")
      .compile({ checkpointer: new MemorySaver() });
    const on = (thread_id: string) => ({ configurable: { thread_id } });
    await graph.invoke({ messages: [new HumanMessage("Hello")] }, on("thread-1"));
    await graph.invoke({ messages: [new HumanMessage("Goodbye")] }, on("thread-2"));
    const titles = await Promise.all(["thread-1", "thread-2"].map((id) => graph.getState(on(id))));
    expect(titles.map(({ values }) => values.title)).toEqual(["Hello", "Goodbye"]);
  });
});
