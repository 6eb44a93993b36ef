import { AIMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, interrupt } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createToolErrors } from "./tool-errors.ts";

function createAgentWith(work: () => unknown, options?: Parameters<typeof createToolErrors>[0]) {
  const acts = tool(work, { name: "act", description: "Acts.", schema: z.object({ count: z.number() }) });
  return createTestAgent({
    middleware: [createToolErrors(options)],
    tools: [acts],
    script: [{ tool_calls: [{ name: "act", args: { count: 1 } }] }, "I see."],
  });
}

async function messageOf(work: () => unknown, options?: Parameters<typeof createToolErrors>[0]) {
  const { messages } = await createAgentWith(work, options).turn("go");
  const message = messages.find((candidate) => ToolMessage.isInstance(candidate));
  if (!message) throw new Error("There is no tool message.");
  expect(messages.at(-1)?.text).toBe("I see.");
  return message;
}

const fail = (error: unknown) => () => {
  throw error;
};

test("a failing tool becomes an error message with its reason, and the run goes on", async () => {
  const message = await messageOf(fail(new Error("There is no file at /mnt/user-data/workspace/a.csv.")));
  expect(message).toMatchObject({ status: "error", name: "act", tool_call_id: "call_0_0" });
  expect(message.text).toBe("The call of act failed: There is no file at /mnt/user-data/workspace/a.csv.");
});

test.each([
  ["a thrown text", "out of luck", "out of luck"],
  ["an error without a message", new TypeError(), "TypeError"],
  ["nothing at all", undefined, "undefined"],
])("%s is a failure with a reason too", async (_what, thrown, reason) => {
  expect((await messageOf(fail(thrown))).text).toContain(reason);
});

test("arguments that do not fit the schema are named, without LangChain's stack", async () => {
  const acts = tool(() => "done", {
    name: "act",
    description: "Acts.",
    schema: z.object({ count: z.number() }),
  });
  const agent = createTestAgent({
    middleware: [createToolErrors()],
    tools: [acts],
    script: [{ tool_calls: [{ name: "act", args: { count: "many" } }] }, "I see."],
  });
  const { messages } = await agent.turn("go");
  const text = messages.at(-2)?.text ?? "";
  expect(text).toContain("count");
  expect(text).not.toMatch(/\bat .*(node_modules|:\d+:\d+)/);
});

describe("a failure's text", () => {
  test("has no stack", async () => {
    const error = new Error("inner");
    const { text } = await messageOf(fail(new Error(`outer: ${error.stack}`)));
    expect(text).toContain("outer: Error: inner");
    expect(text).not.toMatch(/\n\s+at /);
  });

  test.each([
    "ENOENT: no such file, open '/work/main/.heddle/threads/1/user-data/workspace/a.csv'",
    "cannot read /root/.ssh/id_rsa",
    "see file:///srv/heddle/src/main.ts",
    "C:\\Users\\ann\\heddle\\a.csv is locked",
    "(/home/ann/project)",
    "path=/var/lib/heddle/data",
  ])("has no path of the host: %s", async (text) => {
    expect((await messageOf(fail(new Error(text)))).text).toMatch(/\[path\]/);
    expect((await messageOf(fail(new Error(text)))).text).not.toMatch(/heddle\b.*\.|ssh|Users|home|srv|var/);
  });

  test.each([
    "no such file: /mnt/user-data/outputs/report.md",
    "https://example.com/a/b answered 404",
    "either/or, 1/2, and/or",
    "read 3/4 of /mnt/user-data",
  ])("keeps what is no path of the host: %s", async (text) => {
    expect((await messageOf(fail(new Error(text)))).text).toContain(text);
  });

  test("is bounded, with a note of what was left out", async () => {
    const { text } = await messageOf(fail(new Error(`start ${"x".repeat(5_000)} end`)), {
      maxErrorChars: 200,
    });
    expect(text.length).toBeLessThan(300);
    expect(text).toMatch(/start x+\n\[… 4\d\d\d characters left out …\]\nx+ end$/);
  });
});

describe("what is not a failure of the tool", () => {
  test("an interrupt stops the run", async () => {
    expect(await createAgentWith(() => interrupt("sure?")).turn("go")).toHaveProperty("__interrupt__");
  });

  test("an abort ends the run", async () => {
    const controller = new AbortController();
    const agent = createAgentWith(() => {
      controller.abort(new Error("stopped by the user"));
      throw controller.signal.reason;
    });
    await expect(agent.turn("go", { signal: controller.signal })).rejects.toThrow();
    const { messages } = await agent.state();
    expect(messages.filter((message) => ToolMessage.isInstance(message))).toEqual([]);
    expect(messages.filter((message) => AIMessage.isInstance(message))).toHaveLength(1);
  });

  test("an abort is not made a message, which would have the model called once more", async () => {
    const { wrapToolCall } = createToolErrors();
    const request = {
      toolCall: { id: "a", name: "act", args: {} },
      runtime: { signal: AbortSignal.abort() },
    };
    const stopped = Promise.reject(new DOMException("stopped", "AbortError"));
    await expect(wrapToolCall?.(request as never, () => stopped)).rejects.toThrow("stopped");
  });

  test("an abort of something inside the tool, while the run goes on, is its failure", async () => {
    expect((await messageOf(fail(new DOMException("took too long", "AbortError")))).status).toBe("error");
  });
});

describe("a result", () => {
  test("of nothing is named as such", async () => {
    expect((await messageOf(() => undefined)).text).toBe("The tool ended without output.");
    expect((await messageOf(() => "")).text).toBe("The tool ended without output.");
  });

  test("that is far too long is cut in the middle", async () => {
    const { text } = await messageOf(() => "y".repeat(400_000));
    expect(text.length).toBeLessThan(100_100);
    expect(text).toContain("[… 300000 characters left out …]");
  });

  test("of ordinary length is left as it is", async () => {
    expect(await messageOf(() => "fine")).toMatchObject({ content: "fine", status: "success" });
  });
});

test("the message of a tool that also writes state is cut as any other, and what it writes is not", async () => {
  const title = "a".repeat(500);
  const command = (_input: unknown, { toolCall }: { toolCall: { id: string } }) =>
    new Command({
      update: { title, messages: [new ToolMessage({ content: "b".repeat(500), tool_call_id: toolCall.id })] },
    });
  const acts = tool(command as never, { name: "act", description: "Acts.", schema: z.object({}) });
  const agent = createTestAgent({
    middleware: [createToolErrors({ maxResultChars: 100 })],
    tools: [acts],
    script: [{ tool_calls: [{ name: "act" }] }, "I see."],
  });
  const state = await agent.turn("go");
  expect(state.messages.at(-2)?.text).toContain("400 characters left out");
  expect(state.title).toBe(title);
});
