import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { fuseMiddlewares } from "#kit";
import { ScriptedModel } from "../test/helpers/scripted-model.ts";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createSummarization } from "./summarization.ts";

type Options = Partial<Parameters<typeof createSummarization>[0]>;
type Script = ConstructorParameters<typeof ScriptedModel>[0];

const RULES = "Standing rules: be kind.";
const read = tool(() => `row `.repeat(100), { name: "read", description: "Reads.", schema: z.object({}) });

/** Each turn asks, reads three times (some 300 tokens), and answers. */
const worker: Script = (_request, index) =>
  index % 4 < 3 ? { tool_calls: [{ name: "read" }], content: `step ${index}` } : `answer ${index}`;

function createAgent(
  options: Options = {},
  { script = worker as Script, summaries = undefined as Script | undefined } = {},
) {
  const writer = new ScriptedModel(summaries ?? ((_request, index) => `SUMMARY ${index}`));
  const middleware = createSummarization({
    triggerTokens: () => 1_000,
    keepMessages: 6,
    model: () => writer,
    ...options,
  });
  const agent = createTestAgent({
    middleware: [fuseMiddlewares("chain", [middleware])],
    tools: [read],
    systemPrompt: RULES,
    script,
  });
  return { writer, ...agent };
}

const question = (turn: number) => `Question ${turn}: ${"please look at every single row of it. ".repeat(8)}`;
const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);
const isSummarized = (messages: readonly BaseMessage[]) =>
  texts(messages).some((text) => text.startsWith("<summary>"));

async function longThread(options?: Options, scripts?: Parameters<typeof createAgent>[1]) {
  const agent = createAgent(options, scripts);
  for (let turn = 1; turn <= 8; turn++) await agent.turn(question(turn));
  return agent;
}

describe("in a long thread", () => {
  test("the model reads a summary and the newest messages, and far less than the whole", async () => {
    const { model, writer } = await longThread();
    const last = model.requests.at(-1)?.messages ?? [];
    expect(last.length).toBeLessThan(30);
    expect(isSummarized(last)).toBe(true);
    expect(writer.requests.length).toBeGreaterThan(1);
  });

  test("the messages of the state stay whole", async () => {
    const { state } = await longThread();
    const { messages } = await state();
    expect(messages).toHaveLength(8 * 8);
    expect(texts(messages).filter((text) => text.startsWith("Question"))).toHaveLength(8);
    expect(isSummarized(messages)).toBe(false);
  });

  test("every model call has the standing rules and the user's current message word by word", async () => {
    // Two kept messages are the last call and its answer: in every turn the question itself falls under the cut.
    const { model } = await longThread({ keepMessages: 2, triggerTokens: () => 500 });
    let pinned = 0;
    for (const [index, { messages }] of model.requests.entries()) {
      const current = question(Math.floor(index / 4) + 1);
      expect(messages[0]?.text).toBe(RULES);
      expect(texts(messages)).toContain(current);
      if (isSummarized(messages) && messages.at(2)?.text === current && messages.at(3)?.text !== "step 0")
        pinned++;
    }
    expect(pinned).toBeGreaterThan(5);
  });

  test("a question that was pinned stays in its place in the next turn, until the next summary", async () => {
    const { model, writer } = await longThread({ keepMessages: 2, triggerTokens: () => 700 });
    const requests = model.requests.map(({ messages }) => texts(messages));
    const breaks = requests.slice(1).filter((request, index) => {
      return requests[index]?.some((text, at) => request[at] !== text);
    });
    expect(breaks.length).toBe(writer.requests.length);
  });

  test("no call is parted from its answer", async () => {
    const { model } = await longThread();
    for (const { messages } of model.requests) {
      const open = new Set<string | undefined>();
      for (const message of messages) {
        if (ToolMessage.isInstance(message)) expect(open.delete(message.tool_call_id)).toBe(true);
        else
          for (const { id } of AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []) open.add(id);
      }
      expect(open.size).toBe(0);
    }
  });

  test("the summary is written once and then read from the state, so the prefix breaks only with a new one", async () => {
    const { model, writer } = await longThread();
    const requests = model.requests.map(({ messages }) => texts(messages));
    const breaks = requests.slice(1).filter((request, index) => {
      const before = requests[index] ?? [];
      return before.some((text, at) => request[at] !== text);
    });
    expect(breaks).toHaveLength(writer.requests.length);
    expect(writer.requests.length).toBeLessThan(model.requests.length / 3);
  });

  test("a new summary is made of the former one and what came since, not of everything again", async () => {
    const { writer } = await longThread();
    const prompts = writer.requests.map(({ messages }) => messages[0]?.text ?? "");
    expect(prompts[1]).toContain("SUMMARY 0");
    expect(prompts[0]).toContain("Question 1");
    expect(prompts[1]).not.toContain("Question 1");
  });

  test("its tokens never reach the messages stream", async () => {
    const agent = createAgent({ triggerTokens: () => 500 });
    await agent.turn(question(1));
    const streamed = JSON.stringify(await agent.stream(question(2), "messages"));
    expect(agent.writer.requests.length).toBeGreaterThan(0);
    expect(streamed).not.toContain("SUMMARY");
  });

  test("another server, or the same after a restart, goes on with the stored summary", async () => {
    const first = await longThread();
    const second = createAgent({}, { script: new ScriptedModel(["later"], { ids: "second" }) as never });
    second.graph.checkpointer = first.graph.checkpointer;
    await second.turn("Short one.");
    expect(isSummarized(second.model.requests[0]?.messages ?? [])).toBe(true);
    expect(second.writer.requests).toHaveLength(0);
  });
});

describe("open todos", () => {
  const todos = [
    { id: "todo-1", title: "Count the rows", status: "completed" as const },
    { id: "todo-2", title: "Write the report", status: "in_progress" as const },
  ];

  test("stand word by word in every call in which their writing is out of sight", async () => {
    const agent = createAgent({ triggerTokens: () => 500 });
    await agent.turn({ messages: [new HumanMessage(question(1))], todos });
    await agent.turn(question(2));
    const summarized = agent.model.requests.filter(({ messages }) => isSummarized(messages));
    expect(summarized.length).toBeGreaterThan(1);
    for (const { messages } of summarized) {
      expect(messages.at(-1)?.text).toBe(
        "<open_todos>\n- [in_progress] Write the report (todo-2)\n</open_todos>",
      );
    }
  });

  test("are not repeated while the model can read the call that wrote them", async () => {
    const written = new AIMessage({
      content: "",
      tool_calls: [{ id: "w", name: "write_todos", args: { todos } }],
    });
    const agent = createAgent({ keepMessages: 4 }, { script: ["ok"] });
    const filler = Array.from(
      { length: 10 },
      (_, index) => new HumanMessage(`${index} ${"word ".repeat(120)}`),
    );
    const result = new ToolMessage({ content: "The list.", tool_call_id: "w" });
    await agent.turn({ messages: [...filler, written, result, new HumanMessage("Go on.")], todos });
    const [request] = agent.model.requests;
    expect(isSummarized(request?.messages ?? [])).toBe(true);
    expect(texts(request?.messages ?? []).join()).not.toContain("<open_todos>");
  });
});

describe("a summary that cannot be had", () => {
  const twoTurns = async (summaries: Script, options: Options = {}) => {
    const agent = createAgent({ triggerTokens: () => 500, ...options }, { summaries });
    await agent.turn(question(1));
    const { messages } = await agent.turn(question(2));
    return { answer: messages.at(-1)?.text, read: agent.model.requests.at(-1)?.messages.length };
  };

  test.each<[string, Script, Options]>([
    ["fails", () => new Error("no"), {}],
    ["is empty", () => " ", {}],
    ["comes too late", () => "late", { deadline: () => AbortSignal.abort() }],
  ])("because it %s leaves the model everything, and the run succeeds", async (_why, summaries, options) => {
    expect(await twoTurns(summaries, options)).toEqual({ answer: "answer 7", read: 16 });
    expect((await twoTurns(() => "good")).read).toBeLessThan(16);
  });

  test("is not asked for again in every call", async () => {
    const { writer, model } = await longThread({}, { summaries: () => new Error("no") });
    expect(writer.requests.length).toBeLessThan(model.requests.length / 3);
    expect(writer.requests.length).toBeGreaterThan(1);
  });
});

test("when the messages that a summary stands for are gone, the model reads what is left of them", async () => {
  const { turn, state, model } = await longThread();
  const later = (await state()).messages.slice(8).map(({ id = "" }) => new RemoveMessage({ id }));
  await turn([...later, new HumanMessage("Again.")]);
  const request = texts(model.requests.at(-4)?.messages ?? []);
  expect(request).toHaveLength(1 + 8 + 1);
  expect(request).toContain(question(1));
});

test("messages too large for half the limit are not all kept, whatever their number", async () => {
  const agent = createAgent({ keepMessages: 50 }, { script: ["ok"] });
  const large = Array.from({ length: 6 }, (_, index) => new HumanMessage(`${index} ${"word ".repeat(400)}`));
  await agent.turn([...large, new HumanMessage("Sum it up.")]);
  const [request] = agent.model.requests;
  expect(texts(request?.messages ?? []).filter((text) => /^\d /.test(text)).length).toBeLessThan(2);
  expect(request?.messages.at(-1)?.text).toBe("Sum it up.");
});

test("all of what is cut is given to the summary, not only its end", async () => {
  const agent = createAgent({ triggerTokens: () => 10_000, keepMessages: 2 }, { script: ["ok"] });
  const large = Array.from(
    { length: 10 },
    (_, index) => new HumanMessage(`Part ${index} ${"word ".repeat(900)}`),
  );
  await agent.turn([...large, new HumanMessage("Sum it up.")]);
  const prompt = agent.writer.requests[0]?.messages[0]?.text ?? "";
  for (let part = 0; part < 8; part++) expect(prompt).toContain(`Part ${part} `);
});

test("switched off, or below the limit, nothing is summarized", async () => {
  const off = await longThread({ enabled: false });
  expect(off.writer.requests).toHaveLength(0);
  const below = await longThread({ triggerTokens: () => 100_000 });
  expect(below.writer.requests).toHaveLength(0);
});
