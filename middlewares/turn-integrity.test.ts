import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ScriptedModel, type ScriptedReply } from "../test/helpers/scripted-model.ts";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createTurnIntegrity } from "./turn-integrity.ts";

type Reply = string | ScriptedReply;

function createAgent(replies: readonly Reply[], options?: ConstructorParameters<typeof ScriptedModel>[1]) {
  const ran: unknown[] = [];
  const bash = tool(
    ({ command }) => {
      ran.push(command);
      return "ran";
    },
    { name: "bash", description: "Runs.", schema: z.object({ command: z.string() }) },
  );
  const script = new ScriptedModel(replies, options);
  return { ran, ...createTestAgent({ middleware: [createTurnIntegrity()], tools: [bash], script }) };
}

const bash = (raw: string, more: object = {}): ScriptedReply => ({
  tool_calls: [{ name: "bash", raw, ...more }],
});
const good = { tool_calls: [{ name: "bash", args: { command: "ls" } }] };
const whole = (fields: ConstructorParameters<typeof AIMessage>[0]) => ({
  message: new AIMessage(fields as object),
});
const cutText: ScriptedReply = { content: "The figures are", finish_reason: "length" };
const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text);

/** Every broken turn, with the words that name it to the model and to the user. */
const faults: [string, Reply, RegExp][] = [
  [
    "arguments that are not JSON",
    bash("command: rm -rf /tmp/x"),
    /called bash with arguments that are not valid JSON/,
  ],
  [
    "arguments whose JSON was left open",
    bash('{"command": "rm -rf /tmp/cache'),
    /bash with arguments that are not valid/,
  ],
  ["arguments that are a JSON text, not an object", bash('"ls"'), /not valid JSON/],
  [
    "an unreadable call beside a good one",
    {
      tool_calls: [
        { name: "bash", args: { command: "ls" } },
        { name: "bash", raw: '{"command": ' },
      ],
    },
    /not valid JSON/,
  ],
  [
    "an unreadable call in a whole message",
    whole({
      content: "",
      invalid_tool_calls: [{ id: "a", name: "bash", args: "{", type: "invalid_tool_call" }],
    }),
    /not valid JSON/,
  ],
  [
    "a call cut off at the length limit, though its JSON was mended",
    { ...bash('{"command": "rm -rf /tmp'), finish_reason: "length" },
    /cut off at its length limit in the middle of a call of bash/,
  ],
  ["text cut off at the length limit", cutText, /cut off at its length limit\b/],
  [
    "text cut off, in another provider's words",
    whole({ content: "The", response_metadata: { stop_reason: "max_tokens" } }),
    /cut off at its length limit/,
  ],
  [
    "text cut off, in the words of the Responses API",
    whole({ content: "The", response_metadata: { incomplete_details: { reason: "max_output_tokens" } } }),
    /cut off at its length limit/,
  ],
  ["text cut off by a filter", { content: "The", finish_reason: "content_filter" }, /content filter/],
  ["an empty reply", "", /was empty/],
  ["a reply of blanks", " \n ", /was empty/],
  ["a reply of thoughts alone", "<think>Hmm.</think>", /was empty/],
  [
    "a reply of thoughts alone, in blocks",
    { content: [{ type: "thinking", thinking: "Hmm." }] },
    /was empty/,
  ],
  [
    "a call without a tool's name",
    { tool_calls: [{ name: "", args: { command: "ls" } }] },
    /without naming it/,
  ],
  [
    "a call written in tags",
    '<tool_call>\n{"name": "bash", "arguments": {"command": "ls"}}\n</tool_call>',
    /tool call written as text/,
  ],
  ["a call written in tags after words", "Let me see.\n<function=bash>ls</function>", /written as text/],
  ["a call written as JSON", '{"name": "bash", "arguments": {"command": "ls"}}', /written as text/],
  ["a call written as fenced JSON", '```json\n[{"name": "bash", "parameters": {}}]\n```', /written as text/],
  ["a call in Mistral's words", '[TOOL_CALLS][{"name": "bash"}]', /written as text/],
  ["a call in Llama's words", '<|python_tag|>{"name": "bash", "parameters": {}}', /written as text/],
  ["a call written as Python", '[bash(command="ls")]', /written as text/],
  ["a call in Gemma's words", '```tool_code\nprint(bash(command="ls"))\n```', /written as text/],
  ["a call in gpt-oss's words", "<|channel|>commentary to=functions.bash<|message|>{}", /written as text/],
  ["the end of such a call", 'to=functions.bash {"command": "ls"}', /written as text/],
  ["a call of a ReAct prompt", "Thought: I must look.\nAction: bash\nAction Input: ls", /written as text/],
  [
    "a call that is announced and does not come",
    { content: "I will look.", finish_reason: "tool_calls" },
    /announced a tool call/,
  ],
];

describe.each(faults)("%s", (_what, broken, reason) => {
  test("gets one more model call that names the fault, and is forgotten when that is good", async () => {
    const { turn, model } = createAgent([broken, "A good answer."]);
    const { messages } = await turn("go");
    expect(texts(messages)).toEqual(["go", "A good answer."]);
    const notice = model.requests[1]?.messages.at(-1)?.text;
    expect(notice).toMatch(/^<notice>\nYour last reply could not be used: it /);
    expect(notice).toMatch(reason);
    expect(model.requests[1]?.messages.at(0)?.text).toBe("go");
  });

  test("ends the run as an error that names it when it comes twice, and leaves the thread usable", async () => {
    const { turn, state, model } = createAgent([broken, broken, "A good answer."]);
    const error: Error = await turn("go").catch((thrown) => thrown);
    expect(error).toMatchObject({ name: "ModelTurnError", message: expect.stringMatching(reason) });
    expect(error.message).toMatch(/^Twice in a row the model's reply .*\.$/);
    expect(texts((await state()).messages)).toEqual(["go"]);
    expect(texts((await turn("again")).messages)).toEqual(["go", "again", "A good answer."]);
    expect(model.requests).toHaveLength(3);
  });

  test("runs no tool, mended or whole", async () => {
    const { turn, ran } = createAgent([broken, broken]);
    await turn("go").catch(() => undefined);
    expect(ran).toEqual([]);
  });
});

test("an empty reply after a tool is caught as the first one is", async () => {
  const { turn, ran, model } = createAgent([good, "", "Three files."]);
  expect((await turn("go")).messages.at(-1)?.text).toBe("Three files.");
  expect(ran).toEqual(["ls"]);
  expect(model.requests).toHaveLength(3);
});

test("two different faults in a row are both named", async () => {
  const { turn } = createAgent([cutText, ""]);
  await expect(turn("go")).rejects.toThrow(
    "The model's reply was cut off at its length limit, and the next one was empty.",
  );
});

describe("a good turn", () => {
  test.each<[string, Reply]>([
    ["words", "Done."],
    ["words about a tag in code", "Write `<tool_call>` around it:\n```\n<tool_call>{}</tool_call>\n```"],
    ["JSON that calls nothing", '{"name": "Ann", "arguments": "none"}'],
    ["a tag that names no tool, in a sentence", "The format begins with <tool_call> and ends there."],
    ["a tag before a word that has a tool's name in it", "After <tool_call> comes bashful silence."],
    ["an action that is no tool's", "Action: none\nAction Input: none"],
    [
      "an image without words",
      { content: [{ type: "image_url", image_url: { url: "https://example.com/a.png" } }] },
    ],
    ["a finish reason of another provider", { content: "Done.", finish_reason: "end_turn" }],
  ])("of %s stands after one call", async (_what, reply) => {
    const { turn, model } = createAgent([reply]);
    await turn("go");
    expect(model.requests).toHaveLength(1);
  });

  test("whose call has no arguments at all is run as a call without arguments", async () => {
    const { turn, model } = createAgent([bash(""), "It needs a command."]);
    const { messages } = await turn("go");
    expect(model.requests).toHaveLength(2);
    expect(messages.at(-2)).toMatchObject({ status: "error" });
  });

  test("is kept as a whole message, without the chunks it came in", async () => {
    const { stream, state } = createAgent([good, "Done."]);
    await stream("go", "messages");
    for (const message of (await state()).messages.filter((one) => AIMessage.isInstance(one))) {
      expect(message.lc_id.at(-1)).toBe("AIMessage");
      expect(JSON.stringify(message)).not.toContain("tool_call_chunks");
    }
  });

  test("that is a refusal keeps the provider's words", async () => {
    const refusal = "I cannot help with that.";
    const { turn } = createAgent([whole({ content: "", additional_kwargs: { refusal } })], { stream: false });
    expect((await turn("go")).messages.at(-1)?.text).toBe(refusal);
  });
});

describe("tool call ids", () => {
  const twoCalls = (...ids: (string | null)[]) => ({
    tool_calls: ids.map((id) => ({ name: "bash", args: { command: "ls" }, id })),
  });
  const idsOf = (messages: readonly BaseMessage[]) => [
    messages
      .flatMap((message) => (AIMessage.isInstance(message) ? (message.tool_calls ?? []) : []))
      .map(({ id }) => id),
    messages.flatMap((message) => (ToolMessage.isInstance(message) ? [message.tool_call_id] : [])),
  ];

  test.each([
    ["missing", [null, null]],
    ["empty", ["", ""]],
    ["the same twice", ["a", "a"]],
  ])("that are %s are made unique, and each result belongs to one call", async (_what, ids) => {
    const { turn, ran, model } = createAgent([twoCalls(...ids), "Done."]);
    const [called, answered] = idsOf((await turn("go")).messages);
    expect(new Set(called).size).toBe(2);
    expect(called?.every(Boolean)).toBe(true);
    expect(answered).toEqual(called);
    expect(ran).toEqual(["ls", "ls"]);
    expect(model.requests).toHaveLength(2);
  });

  test("that a later turn uses again are made unique in the thread", async () => {
    const { turn } = createAgent([twoCalls("call_0"), "Done.", twoCalls("call_0"), "Done."]);
    await turn("1");
    const [called, answered] = idsOf((await turn("2")).messages);
    expect(called?.[0]).toBe("call_0");
    expect(new Set(called).size).toBe(2);
    expect(answered).toEqual(called);
  });

  test("that are in order stay as they are", async () => {
    const { turn } = createAgent([twoCalls("x", "y"), "Done."]);
    expect(idsOf((await turn("go")).messages)).toEqual([
      ["x", "y"],
      ["x", "y"],
    ]);
  });
});
