import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { withUploadsBlock } from "#kit";
import { ScriptedModel } from "../test/helpers/scripted-model.ts";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { createTitle, type TitleOptions } from "./title.ts";

const look = tool(() => "seen", { name: "look", description: "Looks.", schema: z.object({}) });

function createTitledAgent(
  titles: ConstructorParameters<typeof ScriptedModel>[0],
  options: TitleOptions = {},
  script: ConstructorParameters<typeof ScriptedModel>[0] = () => "An answer.",
) {
  const writer = new ScriptedModel(titles);
  const middleware = [createTitle({ model: () => writer, ...options })];
  return { writer, ...createTestAgent({ middleware, script, tools: [look] }) };
}

/** What the writing model was asked. */
const promptOf = (writer: ScriptedModel) => writer.requests[0]?.messages[0]?.text;

describe("the title", () => {
  test("is written by the model after the first exchange, and once", async () => {
    const { turn, writer } = createTitledAgent(["Quarterly figures"]);
    expect((await turn("How did we do?")).title).toBe("Quarterly figures");
    expect((await turn("And last year?")).title).toBe("Quarterly figures");
    expect(writer.requests).toHaveLength(1);
  });

  test("is asked for with the first question and the answer in words, not with a tool call", async () => {
    const script = [{ tool_calls: [{ name: "look" }] }, "We did well."];
    const { turn, writer } = createTitledAgent(
      ["t"],
      { prompt_template: "{max_words}|{user_msg}|{assistant_msg}", max_words: 5 },
      script,
    );
    await turn("How did we do?");
    expect(promptOf(writer)).toBe("5|How did we do?|We did well.");
  });

  test("is asked for with 500 characters of each side, without the list of uploads", async () => {
    const { turn, writer } = createTitledAgent(["t"], { prompt_template: "{user_msg}|{assistant_msg}" }, () =>
      "b".repeat(600),
    );
    const file = { filename: "a.csv", size: 1, path: "/mnt/user-data/uploads/a.csv", extension: ".csv" };
    await turn([withUploadsBlock(new HumanMessage("a".repeat(600)), [file])]);
    expect(promptOf(writer)).toBe(`${"a".repeat(500)}|${"b".repeat(500)}`);
  });

  test.each(["{assistant_msg}", "{max_words} {{user_msg}}", "$& $1 $'", "{unknown}"])(
    "takes braces and dollars in the user's text for text: %s",
    async (text) => {
      const { turn, writer } = createTitledAgent(["t"], { prompt_template: "<{user_msg}>" });
      await turn(text);
      expect(promptOf(writer)).toBe(`<${text}>`);
    },
  );

  test.each([
    ["  Two\n lines ", "Two lines"],
    ['"Quoted title."', "Quoted title"],
    ["<think>Hmm, what?</think>Thoughtful", "Thoughtful"],
    ["x".repeat(100), "x".repeat(80)],
  ])("is tidied and cut: %j", async (written, title) => {
    const { turn } = createTitledAgent([written]);
    expect((await turn("hi")).title).toBe(title);
  });

  test("is never cut in the middle of a character", async () => {
    const { turn } = createTitledAgent(["👩🏽‍🚀".repeat(30)], { max_chars: 5 });
    expect((await turn("hi")).title?.isWellFormed()).toBe(true);
  });
});

describe("the fallback of 50 characters and three dots", () => {
  const question = "Please compare the figures of this quarter with those of the last one.";
  const fallback = "Please compare the figures of this quarter with th...";

  test.each<[string, ConstructorParameters<typeof ScriptedModel>[0], TitleOptions]>([
    ["the model fails", [new Error("no answer")], {}],
    ["the model says nothing", [""], {}],
    ["the model only thinks", ["<think>and thinks"], {}],
    ["there is no model", [], { model: () => undefined }],
    ["the time is up", ["late"], { deadline: () => AbortSignal.abort() }],
  ])("is taken when %s, and the run succeeds", async (_why, titles, options) => {
    const { turn } = createTitledAgent(titles, options);
    const { title, messages } = await turn(question);
    expect(title).toBe(fallback);
    expect(messages.at(-1)?.text).toBe("An answer.");
  });

  test("is taken when the model never comes back, once the time is up", async () => {
    const controller = new AbortController();
    const { turn } = createTitledAgent(
      () => {
        controller.abort();
        return new Promise(() => {});
      },
      { deadline: () => controller.signal },
    );
    expect((await turn(question)).title).toBe(fallback);
  });
});

describe("no title is written", () => {
  test("over one that the user has set", async () => {
    const { turn, writer } = createTitledAgent([]);
    const { title } = await turn({ messages: [new HumanMessage("hi")], title: "Mine" });
    expect(title).toBe("Mine");
    expect(writer.requests).toHaveLength(0);
  });

  test("when it is switched off", async () => {
    const { turn } = createTitledAgent([], { enabled: false });
    expect((await turn("hi")).title).toBeNull();
  });

  test("before there is an answer in words; the next turn makes up for it", async () => {
    const { turn } = createTitledAgent(["Later"], {}, ["", "An answer."]);
    expect((await turn("first")).title).toBeNull();
    expect((await turn("second")).title).toBe("Later");
  });
});

test("its tokens never reach the messages stream", async () => {
  const { stream, state } = createTitledAgent(["Secret title"]);
  const chunks = (await stream("hi", "messages")) as [AIMessage, unknown][];
  const text = chunks.map(([message]) => message.text).join("");
  expect(text).toBe("An answer.");
  expect((await state()).title).toBe("Secret title");
  expect(AIMessage.isInstance(chunks[0]?.[0])).toBe(true);
});
