import { expect, test } from "vitest";
import { readAnswers } from "./clarification.ts";

const QUESTIONS = ["Where?", "When?"];

test.each<[unknown, string[]]>([
  ["everywhere", ["everywhere", "everywhere"]],
  [{ answer: "everywhere" }, ["everywhere", "everywhere"]],
  [
    ["here", "now"],
    ["here", "now"],
  ],
  [
    [{ answer: "here" }, "now"],
    ["here", "now"],
  ],
  [{ answers: ["here", "now"] }, ["here", "now"]],
  [{ answers: { "When?": "now" } }, ["", "now"]],
  [{ "Where?": "here", "When?": "now" }, ["here", "now"]],
  [undefined, ["", ""]],
  [{}, ["", ""]],
  [[], ["", ""]],
  [{ answers: { when: "now" } }, ['{"answers":{"when":"now"}}', '{"answers":{"when":"now"}}']],
  [
    ["here", "now", "why"],
    ['["here","now","why"]', '["here","now","why"]'],
  ],
  [7, ["7", "7"]],
])("the user may answer with %j", (resumed, answers) => {
  expect(readAnswers(QUESTIONS, resumed)).toEqual(
    QUESTIONS.map((question, index) => ({ question, answer: answers[index] })),
  );
});
