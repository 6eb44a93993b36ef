import { AIMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { expect, it } from "vitest";
import { toWireJson } from "../events/wire-json.ts";
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
  const at = (text: string) => extract(thread, toPath(text) ?? [], JSON.stringify);
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

it("finds in live values what is in their JSON, and makes JSON of no others", () => {
  const key = fc.constantFrom("a", "content", "0", "length", "constructor");
  const { value: values } = fc.letrec<{ value: unknown }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      fc.jsonValue({ maxDepth: 1 }),
      fc.constantFrom(undefined, 1n, new Date(0), new Uint8Array([1]), new Error("e")),
      fc.record({ content: fc.string() }).map((fields) => new AIMessage(fields)),
      fc.array(tie("value"), { maxLength: 3 }),
      fc.array(tie("value"), { maxLength: 3 }).map((items) => new Set(items)),
      fc.array(fc.tuple(key, tie("value")), { maxLength: 3 }).map((entries) => new Map(entries)),
      fc.dictionary(key, tie("value"), { maxKeys: 3 }),
    ),
  }));
  const paths = fc.array(fc.oneof(key, fc.integer({ min: -2, max: 2 })), { maxLength: 4 });
  fc.assert(
    fc.property(values, paths, (value, path) => {
      const sent: unknown = JSON.parse(toWireJson(value));
      expect(extract(value, path, toWireJson)).toEqual(extract(sent, path, JSON.stringify));
    }),
    { numRuns: 1_000 },
  );
  const made: unknown[] = [];
  const toJson = (value: unknown) => toWireJson(made.push(value) && value);
  const message = new AIMessage("last");
  const thread = { values: { messages: [new AIMessage("first"), message], files: {} } };
  expect(extract(thread, ["values", "messages", -1, "content"], toJson)).toBe("last");
  expect(made).toEqual([message, "last"]);
});
