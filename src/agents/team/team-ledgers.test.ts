import { AIMessage } from "@langchain/core/messages";
import { describe, expect, test } from "vitest";
import { ScriptedModel } from "../../../test/helpers/scripted-model.ts";
import { askLedger, readLedger } from "./ask-ledger.ts";
import { progressLedgerAnswer, taskLedgerAnswer } from "./ledgers.ts";
import { readTeamSettings } from "./settings.ts";

const { participants } = readTeamSettings({});
const progress = progressLedgerAnswer(participants);
const LEDGER = {
  is_request_satisfied: false,
  is_in_loop: false,
  is_progress_being_made: true,
  next_speaker: "analyst",
  instruction_or_question: "Count.",
};

describe("a ledger is read", () => {
  test.each([
    ["as it should be", JSON.stringify(LEDGER)],
    ["from a fence", `Here it is:\n\`\`\`json\n${JSON.stringify(LEDGER, null, 2)}\n\`\`\`\nGood luck!`],
    ["from the midst of words and thoughts", `<think>{"a": 1}</think> So: ${JSON.stringify(LEDGER)}. Done.`],
    ["with a comma too many", JSON.stringify(LEDGER).replace("}", ",}")],
    [
      "with reasons beside the answers, and words for yes and no",
      JSON.stringify({
        is_request_satisfied: { reason: "not yet", answer: "no" },
        is_progress_being_made: { reason: "it moves", answer: "Yes" },
        next_speaker: { reason: "numbers", answer: " Analyst" },
        instruction_or_question: { answer: "Count.", reason: "" },
      }),
    ],
  ])("%s", (_, text) => expect(readLedger(text, progress)).toEqual({ ledger: LEDGER }));

  test("as a plan in lines", () => {
    expect(
      readLedger('{"plan": "1. look\\n2) count\\n\\n- write", "facts": [{"a": 1}]}', taskLedgerAnswer),
    ).toEqual({
      ledger: { plan: ["look", "count", "write"], facts: ['{"a":1}'] },
    });
  });

  test.each([
    ["no JSON", "I cannot do that.", "there is no JSON object in it"],
    [
      "cut off",
      '{"is_request_satisfied": false, "next_speaker": "ana',
      "next_speaker: is not one of researcher, analyst, writer",
    ],
    [
      "a stranger",
      JSON.stringify({ ...LEDGER, next_speaker: "bob" }),
      "next_speaker: is not one of researcher, analyst, writer",
    ],
  ])("not when it is %s, and says why", (_, text, problem) => {
    expect(readLedger(text, progress)).toEqual({ problem });
  });
});

describe("a model that writes no ledger", () => {
  const ask = (model: ScriptedModel) =>
    askLedger(model, { system: "s", question: "q", schema: progress, signal: undefined });

  test("is told why, and asked once more", async () => {
    const model = new ScriptedModel(["Let me think.", JSON.stringify(LEDGER)]);
    expect(await ask(model)).toEqual(LEDGER);
    const [, again] = model.requests;
    expect(again?.messages.map((message) => [AIMessage.isInstance(message), message.text]).slice(2)).toEqual([
      [true, "Let me think."],
      [false, expect.stringContaining("there is no JSON object in it")],
    ]);
  });

  test("is not asked a third time", async () => {
    const model = new ScriptedModel(["No.", "No.", JSON.stringify(LEDGER)]);
    expect(await ask(model)).toBeUndefined();
    expect(model.requests).toHaveLength(2);
  });
});

describe("what is wrong in a team's settings is named", () => {
  test.each([
    [{ participants: [] }, "participants"],
    [
      { participants: [{ name: "A b", description: "x" }] },
      "participants.0.name: begins with a small letter",
    ],
    [{ participants: [{ name: "orchestrator", description: "x" }] }, "is the name of another executor"],
    [
      {
        participants: [
          { name: "a", description: "x" },
          { name: "a", description: "y" },
        ],
      },
      "two have the same name",
    ],
    [{ participants: [{ name: "a", description: "x", skill: 1 }] }, "skill"],
    [{ max_rounds: 0 }, "max_rounds"],
  ])("%j", (configurable, reason) => {
    expect(() => readTeamSettings(configurable)).toThrow(reason);
  });
});
