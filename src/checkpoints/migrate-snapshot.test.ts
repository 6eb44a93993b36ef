import { describe, expect, it } from "vitest";
import { toTopology } from "../graphs/topology.ts";
import { migrateSnapshot } from "./migrate-snapshot.ts";
import type { SnapshotRow } from "./workflow-checkpoint.ts";

const graph = (...edges: [string, string][]) =>
  toTopology({
    nodes: [...new Set(edges.flat())].map((id) => ({ id })),
    edges: edges.map(([source, target]) => ({ source, target })),
  });
const row = (change: Partial<SnapshotRow> = {}): SnapshotRow => ({
  checkpoint_ns: "",
  checkpoint_id: "x",
  parent_checkpoint_id: null,
  type: null,
  checkpoint: {},
  metadata: "{}",
  is_head: true,
  values: [],
  writes: [],
  ...change,
});
const OLD = graph(["__start__", "plan"], ["plan", "write"], ["write", "__end__"]);
const stored = {
  topology: {
    ...OLD,
    executors: Object.fromEntries(Object.entries(OLD.executors).map(([k, v]) => [k, [...v]])),
  },
  messages: { write: [{ task_id: "task-w", payload: null }], plan: [{ task_id: "task-p", payload: null }] },
  snapshot: [
    row({
      checkpoint: {
        channel_versions: { "branch:to:write": "v1", write_state: "v2", log: "v3", __pregel_tasks: "v4" },
        versions_seen: { write: { "branch:to:write": "v0" }, plan: {} },
      },
      values: [
        ["write_state", "v2", "json", '{"chat_history":[]}'],
        ["__pregel_tasks", "v4", "json", '[{"node":"write","args":{}},{"node":"plan","args":{}}]'],
      ],
      writes: [
        ["task-w", 0, "log", "json", "1"],
        ["task-p", 0, "branch:to:write", "json", "null"],
      ],
    }),
    row({ checkpoint_ns: "write:task-w" }),
    row({ checkpoint_ns: "plan:task-p" }),
  ],
};

describe("a snapshot for a graph that has changed", () => {
  it("is taken as it is when nothing has", () => {
    expect(migrateSnapshot(stored, OLD)).toBe(stored.snapshot);
  });

  it("is refused with the names of all that differ", () => {
    const now = graph(["__start__", "plan"], ["plan", "author"], ["author", "check"], ["check", "__end__"]);
    expect(() => migrateSnapshot(stored, now)).toThrow("these executors differ: write, author, check, plan.");
    expect(() => migrateSnapshot(stored, now, { write: "author" })).toThrow("these executors differ: check.");
  });

  it("moves all that an executor with a new name has, but for its task under way, which begins anew", () => {
    const now = graph(["__start__", "plan"], ["plan", "author"], ["author", "__end__"]);
    expect(migrateSnapshot(stored, now, { write: "author" })).toEqual([
      row({
        checkpoint: {
          channel_versions: { "branch:to:author": "v1", author_state: "v2", log: "v3", __pregel_tasks: "v4" },
          versions_seen: { author: { "branch:to:author": "v0" }, plan: {} },
        },
        values: [
          ["author_state", "v2", "json", '{"chat_history":[]}'],
          ["__pregel_tasks", "v4", "json", '[{"node":"author","args":{}},{"node":"plan","args":{}}]'],
        ],
        writes: [["task-p", 0, "branch:to:author", "json", "null"]],
      }),
      row({ checkpoint_ns: "plan:task-p" }),
    ]);
  });

  it("drops what an executor has that is gone", () => {
    const now = graph(["__start__", "plan"], ["plan", "__end__"]);
    expect(() => migrateSnapshot(stored, now, { write: null })).toThrow("these executors differ: plan.");
    const [root] = migrateSnapshot(stored, now, { write: null, plan: "plan" });
    expect(root?.checkpoint.channel_versions).toEqual({ log: "v3", __pregel_tasks: "v4" });
    expect(root?.values).toEqual([["__pregel_tasks", "v4", "json", '[{"node":"plan","args":{}}]']]);
    expect(root?.writes).toEqual([]);
  });

  it("is refused when the executor that another is said to be is none", () => {
    const now = graph(["__start__", "plan"], ["plan", "__end__"]);
    expect(() => migrateSnapshot(stored, now, { write: "nobody", plan: "plan" })).toThrow("differ: write.");
  });
});
