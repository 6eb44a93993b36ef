import { expect, it } from "vitest";
import { extract, toPath } from "./extract.ts";

it("reads keys, places and places from the end", () => {
  expect(toPath("values.messages[-1].content")).toEqual(["values", "messages", -1, "content"]);
  expect(toPath('metadata["a.b"][0]')).toEqual(["metadata", "a.b", 0]);
  expect(toPath("status")).toEqual(["status"]);
});

it("tells what is no path", () => {
  for (const text of [
    "",
    ".",
    "a.",
    "a..b",
    ".a",
    "[0]",
    "a[b]",
    "a[0",
    "a]",
    "a[1.5]",
    'a["b]',
    'a["\\q"x]',
  ]) {
    expect(toPath(text), text).toBeUndefined();
  }
});

it("finds what is there, and null where nothing is", () => {
  const thread = { values: { messages: [{ content: "a" }, { content: "b" }], none: null, flag: false } };
  const at = (text: string) => extract(thread, toPath(text) ?? []);
  expect(at("values.messages[-1].content")).toBe("b");
  expect(at("values.messages[0]")).toEqual({ content: "a" });
  expect(at("values.flag")).toBe(false);
  for (const text of [
    "values.messages[2]",
    "values.messages[-3].content",
    "values.none.x",
    "values.no",
    "x",
    "values[0]",
    "values.messages.length",
    "values.constructor",
  ]) {
    expect(at(text), text).toBeNull();
  }
});
