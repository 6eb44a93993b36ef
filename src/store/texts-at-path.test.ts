// Which texts of a value a path names.
import { expect, it } from "vitest";
import { textsAtPath } from "./texts-at-path.ts";

const value = {
  title: "t",
  count: 3,
  on: false,
  nothing: null,
  meta: { title: "m", tags: ["x", "y", ""] },
  chapters: [{ text: "one" }, { text: "two", notes: [{ by: "ann" }] }, {}],
};

it.each([
  ["title", ["t"]],
  ["count", ["3"]],
  ["on", ["false"]],
  ["nothing", []],
  ["missing.deeper", []],
  ["title.length", []],
  ["constructor", []],
  ["meta.title", ["m"]],
  ["meta.tags", [JSON.stringify(["x", "y", ""], null, 2)]],
  ["meta.tags[*]", ["x", "y"]],
  ["meta.tags[0]", ["x"]],
  ["meta.tags[-2]", ["y"]],
  ["meta.tags[9]", []],
  ["meta.tags[x]", []],
  ["chapters[*].text", ["one", "two"]],
  ["chapters[*].notes[*].by", ["ann"]],
  ["chapters[1].text", ["two"]],
  ["meta.*", ["m", JSON.stringify(["x", "y", ""], null, 2)]],
  ["{title,meta.title}", ["t", "m"]],
  ["$", [JSON.stringify(value, null, 2)]],
])("%s", (path, texts) => expect(textsAtPath(value, path)).toEqual(texts));
