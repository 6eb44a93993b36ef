import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createDanglingToolCalls } from "./dangling-tool-calls.ts";

const human = (content: string) => new HumanMessage(content);
const answer = (tool_call_id: string | undefined, content = "result") =>
  new ToolMessage({ content, tool_call_id } as never);
const calls = (...ids: (string | undefined)[]) =>
  new AIMessage({
    content: "",
    tool_calls: ids.map((id) => ({ id, name: "act", args: {} })),
  });

/** What the model gets of a history, and that the state keeps it as it is. */
async function sent(...history: BaseMessage[]) {
  for (const [index, message] of history.entries()) message.id = `m${index}`;
  const agent = createTestAgent({ middleware: [createDanglingToolCalls()], script: ["ok"] });
  const { messages } = await agent.turn(history);
  expect(messages.slice(0, -1)).toEqual(history);
  return agent.model.requests[0]?.messages ?? [];
}

/** A history in brief: `ask`, `call a b`, `a=result`. */
const brief = (messages: readonly BaseMessage[]) =>
  messages.map((message) => {
    if (ToolMessage.isInstance(message)) return `${message.tool_call_id}=${message.text}`;
    const ids = AIMessage.isInstance(message) ? (message.tool_calls ?? []).map(({ id }) => id) : [];
    return ids.length > 0 ? `call ${ids.join(" ")}` : message.text;
  });

const NONE = "This call was not run: the work was stopped before it.";

test("a history in order reaches the model as the same messages", async () => {
  const history = [human("ask"), calls("a", "b"), answer("b", "2"), answer("a", "1"), new AIMessage("done")];
  const messages = await sent(...history, human("more"));
  expect(messages.slice(0, 5).every((message, index) => message === history[index])).toBe(true);
});

describe("a history out of order", () => {
  test.each<[string, BaseMessage[], string[]]>([
    [
      "a call without an answer gets one that says so",
      [human("ask"), calls("a"), human("go on")],
      ["ask", "call a", `a=${NONE}`, "go on"],
    ],
    [
      "one unanswered call of several is answered after the others",
      [human("ask"), calls("a", "b", "c"), answer("c", "3"), answer("a", "1"), human("go on")],
      ["ask", "call a b c", "c=3", "a=1", `b=${NONE}`, "go on"],
    ],
    ["an answer without a call is left out", [human("ask"), answer("x"), human("go on")], ["ask", "go on"]],
    [
      "a second answer to the same call is left out",
      [human("ask"), calls("a"), answer("a", "1"), answer("a", "2")],
      ["ask", "call a", "a=1"],
    ],
    [
      "an answer that came late is put behind its call",
      [human("ask"), calls("a"), human("wait"), new AIMessage("waiting"), answer("a", "1")],
      ["ask", "call a", "a=1", "wait", "waiting"],
    ],
    [
      "calls without an id get one, and their answers in the same order",
      [human("ask"), calls(undefined, ""), answer("", "1"), answer(undefined, "2")],
      ["ask", "call call_1_0 call_1_1", "call_1_0=1", "call_1_1=2"],
    ],
    [
      "the same id twice in a turn becomes two",
      [human("ask"), calls("a", "a"), answer("a", "1"), answer("a", "2")],
      ["ask", "call a call_1_1", "a=1", "call_1_1=2"],
    ],
    [
      "the same id in two turns becomes two, and each keeps its answer",
      [human("ask"), calls("a"), answer("a", "1"), calls("a"), answer("a", "2")],
      ["ask", "call a", "a=1", "call call_3_0", "call_3_0=2"],
    ],
    [
      "an unanswered call does not take the answer of a later call with its id",
      [human("ask"), calls("a"), human("again"), calls("a"), answer("a", "2")],
      ["ask", "call a", `a=${NONE}`, "again", "call call_3_0", "call_3_0=2"],
    ],
    ["an empty turn is left out", [human("ask"), new AIMessage(""), human("go on")], ["ask", "go on"]],
  ])("%s", async (_what, history, expected) => {
    expect(brief(await sent(...history))).toEqual(expected);
  });

  test("a call without a name gets one, and its answer stays", async () => {
    const nameless = new AIMessage({
      id: "n",
      content: "",
      tool_calls: [{ id: "a", name: "", args: { x: 1 } }],
    });
    const [, call, result] = await sent(human("ask"), nameless, answer("a", "1"));
    expect((call as AIMessage).tool_calls).toMatchObject([{ id: "a", name: "unknown_tool", args: { x: 1 } }]);
    expect(result?.text).toBe("1");
  });

  test("a provider's raw calls that the message does not have are taken out", async () => {
    const raw = [{ id: "a", type: "function" as const, function: { name: "act", arguments: "{" } }];
    const broken = new AIMessage({ content: "I tried.", additional_kwargs: { tool_calls: raw } });
    broken.tool_calls = [];
    const [, message] = await sent(human("ask"), broken, human("go on"));
    expect(message?.text).toBe("I tried.");
    expect(message?.additional_kwargs).toEqual({});
  });
});

describe("whatever the history", () => {
  const id = fc.constantFrom("a", "b", "c", "", undefined);
  const message = fc.oneof(
    fc.constant(() => new HumanMessage("ask")),
    fc.constant(() => new AIMessage("words")),
    fc.array(id, { maxLength: 3 }).map((ids) => () => calls(...ids)),
    id.map((tool_call_id) => () => answer(tool_call_id)),
  );
  const histories = fc.array(message, { maxLength: 12 }).map((makers) => makers.map((make) => make()));

  test("every call has one name, one id and one answer, right after it", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const messages = await sent(human("first"), ...history);
        const ids = new Set<string>();
        let open = new Set<string>();
        for (const message of messages) {
          if (ToolMessage.isInstance(message)) {
            expect(open.delete(message.tool_call_id)).toBe(true);
            continue;
          }
          expect(open.size).toBe(0);
          if (!AIMessage.isInstance(message)) continue;
          open = new Set(message.tool_calls?.map(({ id }) => id ?? ""));
          expect(open.size).toBe(message.tool_calls?.length ?? 0);
          for (const id of open) {
            expect(id).not.toBe("");
            expect(ids.has(id)).toBe(false);
            ids.add(id);
          }
        }
        expect(open.size).toBe(0);
      }),
    );
  });

  test("a further message leaves the requests before it as they were", async () => {
    await fc.assert(
      fc.asyncProperty(histories, async (history) => {
        const before = await sent(human("first"), ...history, human("one"));
        const after = await sent(
          human("first"),
          ...history,
          human("one"),
          new AIMessage("two"),
          human("three"),
        );
        expect(brief(after).slice(0, before.length)).toEqual(brief(before));
      }),
    );
  });
});
