import { describe, expect, test } from "vitest";
import { checkCitations, checkIds } from "./citations.ts";

const REFERENCES = [
  {
    id: "openalex:W1",
    title: "One",
    authors: ["Ada Marsh"],
    year: 2019,
    url: "https://doi.org/10.5555/a",
    doi: "10.5555/a",
  },
  { id: "arxiv:hep-th/9901001", title: "Two", authors: [], url: "https://arxiv.org/abs/hep-th/9901001" },
  { id: "task:ana-1", title: "Three", authors: [] },
];
const check = (text: string) => checkCitations(text, REFERENCES);

test.each([
  "It rains [openalex:W1].",
  "It rains [openalex:W1][task:ana-1].",
  "Old [arxiv:hep-th/9901001], in an array[0], a list [1] and a note [sic].",
  "See https://doi.org/10.5555/a, or http://arxiv.org/abs/hep-th/9901001/.",
  "See [the paper](https://doi.org/10.5555/a) and doi:10.5555/A.",
  "In 2019 (a dry year) and May (2020) nothing fell.",
  "Save it as .csv or .pdf; the rest is < .5 () .",
  "| a  | b |\n|  1 |   2 |\n\n    if x :  y",
])("what tasks have returned, and what is no citation, stays: %s", (text) => {
  expect(check(text)).toMatchObject({ text, removed: [] });
});

test.each([
  ["It rains [openalex:W2].", "It rains.", ["openalex:W2"]],
  ["It rains [openalex:W1, openalex:W2].", "It rains [openalex:W1].", ["openalex:W2"]],
  ["It rains [task:ana-9; task:ana-1].", "It rains [task:ana-1].", ["task:ana-9"]],
  ["It rains [doi:10.1/x] now.", "It rains now.", ["doi:10.1/x"]],
  ["See [the paper](https://example.org/x).", "See the paper.", ["https://example.org/x"]],
  ["See https://doi.org/10.5555/b.", "See.", ["https://doi.org/10.5555/b"]],
  ["As doi:10.9999/zz says.", "As says.", ["doi:10.9999/zz"]],
  [
    "[openalex:W2] It  rains ([task:ana-9], [task:ana-8]) .5 mm",
    "It  rains .5 mm",
    ["openalex:W2", "task:ana-9", "task:ana-8"],
  ],
  ["* [doi:10.1/x] One [doi:10.1/x]\n* Two\t[doi:10.1/x] [doi:10.1/x] !", "* One\n* Two!", ["doi:10.1/x"]],
  ["It rains (Smith et al., 2020).", "It rains.", ["(Smith et al., 2020)"]],
  ["It rains (Müller & Söhne 2011a; Lee, 2012).", "It rains.", ["(Müller & Söhne 2011a; Lee, 2012)"]],
])("what no task has returned is taken out: %s", (text, left, removed) => {
  const checked = check(text);
  expect(checked.text).toBe(left);
  expect(checked.removed.map(({ citation }) => citation)).toEqual(removed);
  expect(checked.removed.every(({ reason }) => reason === "No task has returned it.")).toBe(true);
});

test("ids are told as they are written in the material, each once", () => {
  expect(check("[OPENALEX:w1] and [openalex:W1]").cited).toEqual(["openalex:W1"]);
  expect(check("[OPENALEX:w1]").text).toBe("[openalex:W1]");
});

test("a long text of beginnings without ends is checked to its end", () => {
  const text = `${"[openalex:".repeat(20_000)}${"(Aa et al., ".repeat(20_000)}${"https://".repeat(20_000)}`;
  expect(check(text).cited).toEqual([]);
});

describe("evidence", () => {
  test("is held by its id, with brackets or without", () => {
    expect(checkIds(["openalex:W1", "[task:ana-1]"], REFERENCES).cited).toEqual([
      "openalex:W1",
      "task:ana-1",
    ]);
  });

  test("of any other form is none", () => {
    const { cited, removed } = checkIds(["W1", "Smith 2020", "openalex:W9"], REFERENCES);
    expect(cited).toEqual([]);
    expect(removed.map(({ citation }) => citation).sort()).toEqual(["Smith 2020", "W1", "openalex:W9"]);
  });
});
