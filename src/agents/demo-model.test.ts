import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { withUploadsBlock } from "#kit";
import { DemoModel } from "./demo-model.ts";

const any = z.looseObject({});
const tools = ["bash", "write_file", "present_files", "write_todos"].map((name) =>
  tool(() => "", { name, description: name, schema: any }),
);

/** Plays a whole turn: every call is answered by `result`. */
async function play(history: BaseMessage[], offered = tools, result: Partial<ToolMessage> = {}) {
  const model = new DemoModel().bindTools(offered);
  const messages = [...history];
  for (;;) {
    const reply = (await model.invoke(messages)) as AIMessage;
    messages.push(
      new AIMessage({ id: `ai-${messages.length}`, content: reply.content, tool_calls: reply.tool_calls }),
    );
    const [call] = reply.tool_calls ?? [];
    if (!call) return messages;
    const { status = "success", content = "ok" } = result;
    messages.push(
      new ToolMessage({ id: `t-${messages.length}`, tool_call_id: call.id ?? "", status, content }),
    );
  }
}

const user = (id: string, content: string) => new HumanMessage({ id, content });
const callsOf = (messages: readonly BaseMessage[]) =>
  messages.flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []));

describe("the demo model", () => {
  test("plans, writes, presents, ticks off and answers", async () => {
    const messages = await play([user("1", "Hello there")]);
    expect(callsOf(messages).map(({ name }) => name)).toEqual([
      "write_todos",
      "write_file",
      "present_files",
      "write_todos",
    ]);
    expect(callsOf(messages)[1]?.args).toMatchObject({ path: "/mnt/user-data/outputs/demo-1.md" });
    expect(callsOf(messages)[2]?.args).toEqual({ file_paths: ["/mnt/user-data/outputs/demo-1.md"] });
    expect(messages.at(-1)?.text).toContain("You said: “Hello there”");
  });

  test("looks at an upload and names it", async () => {
    const file = {
      filename: "it's.csv",
      size: 3,
      path: "/mnt/user-data/uploads/it's.csv",
      extension: ".csv",
    };
    const messages = await play([withUploadsBlock(user("1", "Look"), [file])]);
    const bash = callsOf(messages).find(({ name }) => name === "bash");
    expect(bash?.args.command).toContain("'/mnt/user-data/uploads/it'\\''s.csv'");
    expect(messages.at(-1)?.text).toContain("New files: it's.csv.");
    expect(messages.at(-1)?.text).not.toContain("<uploaded_files>");
  });

  test("knows the turns before, and takes what middlewares add for no turn", async () => {
    const first = await play([user("1", "First words")]);
    const messages = await play([...first, user("2", "Second words"), new HumanMessage("<reminder>")]);
    expect(messages.at(-1)?.text).toContain("turn 2");
    expect(messages.at(-1)?.text).toContain("You began with: “First words”");
  });

  test("does without the tools that are not offered", async () => {
    const messages = await play([user("1", "Hello")], []);
    expect(callsOf(messages)).toEqual([]);
    expect(messages.at(-1)?.text).not.toContain("demo-1.md");
  });

  test("says which step failed and comes to an end", async () => {
    const messages = await play([user("1", "Hello")], tools, { status: "error", content: "no room" });
    expect(messages.at(-1)?.text).toContain("A step failed: no room");
  });

  test("does the same for the same conversation", async () => {
    expect(await play([user("1", "Hello")])).toEqual(await play([user("1", "Hello")]));
  });

  test("streams its answer in words, and each call's arguments as JSON in parts", async () => {
    const chunks: AIMessage[] = [];
    for await (const chunk of await new DemoModel().bindTools(tools).stream([user("1", "Hello")]))
      chunks.push(chunk);
    expect(chunks.length).toBeGreaterThan(5);
    expect(chunks.reduce((whole, chunk) => whole + chunk.text, "")).toBe("I make a plan first.");
  });

  test("has a text for a question outside a conversation", async () => {
    expect((await new DemoModel().invoke("Write a title")).text).toBe("A conversation with the demo model");
  });
});
