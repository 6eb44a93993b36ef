import { describe, expect, it } from "vitest";
import { compareTopologies, toTopology } from "./topology.ts";

const drawn = (...edges: [source: string, target: string, conditional?: boolean][]) => {
  const ids = new Set([
    "__start__",
    "__end__",
    ...edges.map(([source]) => source),
    ...edges.map(([, target]) => target),
  ]);
  return toTopology({
    nodes: [...ids].map((id) => ({ id })),
    edges: edges.map(([source, target, conditional = false]) => ({ source, target, conditional })),
  });
};

describe("the topology of a graph", () => {
  const before = drawn(["__start__", "a"], ["a", "b"], ["a", "__end__", true]);

  it("names executors and where they lead", () => {
    expect(before.executors).toEqual({ __start__: ["a"], a: ["__end__?", "b"], b: [] });
  });

  it("has the same version in whatever order it is drawn, and another for another shape", () => {
    expect(drawn(["a", "__end__", true], ["a", "b"], ["__start__", "a"])).toEqual(before);
    expect(drawn(["__start__", "a"], ["a", "b"], ["a", "__end__"]).version).not.toBe(before.version);
  });

  it("differs by what is missing, what is new, and what leads elsewhere", () => {
    const after = drawn(["__start__", "a"], ["a", "c"], ["a", "__end__", true]);
    expect(compareTopologies(before, after)).toEqual({ missing: ["b"], added: ["c"], changed: ["a"] });
    expect(compareTopologies(before, before)).toEqual({ missing: [], added: [], changed: [] });
  });
});
