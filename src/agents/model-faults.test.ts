// The faults of shared/reference/agent-faults.md, one by one, over the whole lead chain. Each ends repaired, or as an
// error that names its reason; none passes for a success. The comment is what the stock agent does.
import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import type { ScriptedReply } from "../../test/helpers/scripted-model.ts";
import { createTestLead } from "../../test/helpers/test-lead.ts";

type Reply = string | Error | ScriptedReply;
type Options = Parameters<typeof createTestLead>[1];

interface Fault {
  readonly name: string;
  /** What the model does; then it answers as it should. */
  readonly replies: readonly Reply[];
  /** In the last request before the good answer: how the fault was named to the model. */
  readonly told?: RegExp;
  /** Model calls in all until the good answer. */
  readonly calls: number;
  /** How the run ends when the fault comes again and again; undefined where the model may go on. */
  readonly ends?: RegExp;
  readonly options?: Options;
}

const act = (more: object = {}): ScriptedReply => ({
  tool_calls: [{ name: "act", args: { count: 1 }, ...more }],
});
const endpoint = (status: number) => Object.assign(new Error(`${status} no`), { status });
const bashCall = { name: "bash", raw: '{"command": "rm -rf /mnt/user-data/work' };
const GOOD = "A good answer.";

const faults: Fault[] = [
  // The run ends with an empty answer.
  {
    name: "arguments that are not JSON",
    replies: [{ tool_calls: [{ name: "bash", raw: "{command: ls}" }] }],
    told: /called bash with arguments that are not valid JSON/,
    calls: 2,
    ends: /not valid JSON/,
  },
  // The good one runs, the other is never mentioned.
  {
    name: "an unreadable call beside a good one",
    replies: [
      {
        tool_calls: [
          { name: "act", args: { count: 1 } },
          { name: "bash", raw: "{" },
        ],
      },
    ],
    told: /called bash with arguments that are not valid JSON/,
    calls: 2,
    ends: /not valid JSON/,
  },
  // The run ends with an empty answer, or with half a command run.
  {
    name: "a call cut off by the length limit",
    replies: [{ tool_calls: [bashCall], finish_reason: "length" }],
    told: /cut off at its length limit in the middle of a call of bash/,
    calls: 2,
    ends: /cut off at its length limit/,
  },
  // Half a text is a success.
  {
    name: "text cut off by the length limit",
    replies: [{ content: "The first half of", finish_reason: "length" }],
    told: /cut off at its length limit/,
    calls: 2,
    ends: /cut off at its length limit/,
  },
  // The run ends with an empty answer.
  { name: "an empty first reply", replies: [""], told: /was empty/, calls: 2, ends: /was empty/ },
  // The run ends with an empty answer.
  { name: "an empty reply after a tool", replies: [act(), ""], told: /was empty/, calls: 3 },
  // It is delivered as the answer.
  {
    name: "a call written as text",
    replies: ['<tool_call>{"name": "bash", "arguments": {"command": "ls"}}</tool_call>'],
    told: /tool call written as text/,
    calls: 2,
    ends: /tool call written as text/,
  },
  {
    name: "a tool that is not there",
    replies: [act({ name: "fly" })],
    told: /fly is not a valid tool/,
    calls: 2,
  },
  // The empty name goes back to the provider, which refuses it.
  {
    name: "an empty tool name",
    replies: [act({ name: "" })],
    told: /called a tool without naming it/,
    calls: 2,
    ends: /without naming it/,
  },
  { name: "arguments of another schema", replies: [act({ args: { number: 1 } })], told: /count/, calls: 2 },
  {
    name: "null for arguments",
    replies: [act({ raw: "null" })],
    told: /not valid JSON/,
    calls: 2,
    ends: /valid JSON/,
  },
  {
    name: "arguments as a JSON text",
    replies: [act({ raw: JSON.stringify('{"count": 1}') })],
    told: /not valid JSON/,
    calls: 2,
    ends: /valid JSON/,
  },
  { name: "a number as text", replies: [act({ args: { count: "1" } })], told: /count/, calls: 2 },
  // Tool messages with missing, empty or doubled ids, which providers refuse.
  { name: "a call without an id", replies: [act({ id: null })], calls: 2 },
  { name: "a call with an empty id", replies: [act({ id: "" })], calls: 2 },
  {
    name: "the same id twice",
    replies: [{ tool_calls: ["a", "a"].map((id) => ({ name: "act", args: { count: 1 }, id })) }],
    calls: 2,
  },
  // The run is aborted as soon as a middleware wraps tool calls.
  {
    name: "a tool that throws",
    replies: [act()],
    told: /The call of act failed: out of paper/,
    calls: 2,
    options: {
      act: () => {
        throw new Error("out of paper");
      },
    },
  },
  {
    name: "a tool that returns nothing",
    replies: [act()],
    told: /ended without output/,
    calls: 2,
    options: { act: () => undefined },
  },
  // All of it goes into the context.
  {
    name: "a result of 400 kB",
    replies: [act()],
    told: /\[… 300000 characters left out …\]/,
    calls: 2,
    options: { act: () => "x".repeat(400_000) },
  },
  // The run fails.
  {
    name: "an endpoint that fails once",
    replies: [endpoint(503)],
    calls: 2,
    ends: /endpoint failed \(503\)/,
  },
  {
    name: "a stream that breaks",
    replies: [new TypeError("terminated")],
    calls: 2,
    ends: /connection .* broke off/,
  },
];

const texts = (messages: readonly BaseMessage[]) => messages.map(({ text }) => text).join("\n");

describe("once, a fault is repaired, named to the model where the model can mend it, and leaves no harm", () => {
  test.each(faults)("$name", async ({ replies, told, calls, options }) => {
    const lead = await createTestLead([...replies, GOOD], options);
    const { messages } = await lead.turn("Go.");
    expect(messages.at(-1)?.text).toBe(GOOD);
    expect(lead.model.requests).toHaveLength(calls);
    if (told) expect(texts(lead.model.requests.at(-1)?.messages ?? [])).toMatch(told);
    expectWellFormed(messages);
    expect(lead.ran).toEqual([]);
  });
});

describe("again and again, it ends the run as an error that says so, and the thread goes on", () => {
  test.each(faults.filter(({ ends }) => ends))("$name", async ({ replies, ends = /^$/, options }) => {
    let isBroken = true;
    const lead = await createTestLead(() => (isBroken ? (replies.at(-1) ?? "") : GOOD), options);
    const error: Error = await lead.turn("Go.").catch((thrown) => thrown);
    expect(error).toMatchObject({ message: expect.stringMatching(ends) });
    expect(error.message).not.toMatch(/\n|node_modules/);
    expect(texts((await lead.state()).messages)).toBe("Go.");
    isBroken = false;
    expect((await lead.turn("Again.")).messages.at(-1)?.text).toBe(GOOD);
    expect(lead.ran).toEqual([]);
  });
});

test("a wrong key is an error at once, not an answer", async () => {
  const lead = await createTestLead([endpoint(401)]);
  await expect(lead.turn("Go.")).rejects.toThrow("The model endpoint refused the API key (401).");
  expect(lead.model.requests).toHaveLength(1);
});

test("endless identical calls end as an error", async () => {
  const lead = await createTestLead(() => act(), { recursionLimit: 20 });
  await expect(lead.turn("Go.")).rejects.toThrow("Recursion limit of 20 reached");
});

test("without a fault nothing is repeated and nothing is added", async () => {
  const lead = await createTestLead([act(), GOOD]);
  const { messages } = await lead.turn("Go.");
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "tool", "ai"]);
  expect(lead.model.requests.map((request) => request.messages.length)).toEqual([2, 4]);
});

/** No empty or doubled id, no call without its answer, no empty turn: what a provider takes. */
function expectWellFormed(messages: readonly BaseMessage[]): void {
  const open = new Set<string>();
  const seen = new Set<string>();
  for (const message of messages) {
    if (ToolMessage.isInstance(message)) expect(open.delete(message.tool_call_id)).toBe(true);
    if (!AIMessage.isInstance(message)) continue;
    expect(message.text + (message.tool_calls?.length || "")).not.toBe("");
    for (const { id = "", name } of message.tool_calls ?? []) {
      expect(name).not.toBe("");
      expect(id).not.toBe("");
      expect(seen.has(id)).toBe(false);
      seen.add(id);
      open.add(id);
    }
  }
  expect(open.size).toBe(0);
}
