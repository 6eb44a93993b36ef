import { expect, test } from "vitest";
import { readAnswer } from "./read-answer.ts";

test.each([
  ["bare", '{"a": 1}'],
  ["after words", 'Here it is:\n{"a": 1}\nI hope it helps.'],
  ["in a fence", 'Well:\n```json\n{"a": 1}\n```\nDone {really}.'],
  ["after thoughts with braces", '<think>{"a": 2}</think>{"a": 1}'],
  ["with a comma too many", '{"a": 1,}'],
  ["with other quotes and no quotes", "{a: 1}"],
  ["cut off", '{"a": 1'],
])("an object %s is read", (_how, text) => {
  expect(readAnswer(text)).toEqual({ a: 1 });
});

test("text in an object may hold fences and braces", () => {
  const value = { code: '```json\n{"b": 2}\n```' };
  expect(readAnswer(JSON.stringify(value))).toEqual(value);
});

test.each(["", "I cannot do that.", "[1, 2]", "42"])("what is no object is an error: %j", (text) => {
  expect(() => readAnswer(text)).toThrow();
});
