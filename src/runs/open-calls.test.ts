import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Chunk } from "./graph-chunks.ts";
import { createOpenCalls } from "./open-calls.ts";
import type { ClaimedRun } from "./runs.sql.ts";

const run = { run_id: "run", thread_id: "thread" } as ClaimedRun;
const tool = (event: string, toolCallId: string, more = {}): Chunk => ({
  mode: "tools",
  namespace: ["tools:1"],
  data: { event, toolCallId, name: `tool ${toolCallId}`, ...more },
});
const task = (id: string, more = {}): Chunk => ({
  mode: "tasks",
  namespace: [],
  data: { id, name: `node ${id}`, interrupts: [], ...more },
});
const state: Chunk = { mode: "values", namespace: [], data: {} };

let lines: Record<string, unknown>[];
const log = pino({ base: null }, { write: (line: string) => void lines.push(JSON.parse(line)) });

function watch(chunks: readonly Chunk[]) {
  const calls = createOpenCalls({ log, warnSeconds: 60 });
  const watched = calls.watch(run);
  for (const chunk of chunks) watched.read(chunk);
  return { calls, watched };
}

beforeEach(() => {
  lines = [];
  vi.useFakeTimers();
});
afterEach(() => void vi.useRealTimers());

describe("open calls", () => {
  it("that have ended are not counted, however they have", () => {
    const { calls, watched } = watch([
      task("1"),
      tool("on_tool_start", "a"),
      tool("on_tool_end", "a"),
      tool("on_tool_start", "b"),
      tool("on_tool_error", "b", { error: new Error("broken") }),
      task("1", { result: { messages: [] } }),
      task("2"),
      task("2", { result: {} }),
    ]);
    watched.end("success");
    expect([calls.unended(), lines]).toEqual([[], []]);
  });

  it("are counted by their run's end, and are a line of the log", () => {
    const interrupt = Object.assign(new Error("which?"), { name: "GraphInterrupt" });
    const { calls, watched } = watch([
      task("1"),
      tool("on_tool_start", "a"),
      tool("on_tool_start", "b"),
      tool("on_tool_error", "b", { error: interrupt }),
      task("1", { result: {}, interrupts: [{ id: "1" }] }),
    ]);
    watched.end("interrupted");
    expect(calls.unended()).toEqual([
      { kind: "task", end: "interrupted", count: 1 },
      { kind: "tool", end: "interrupted", count: 2 },
    ]);
    expect(lines).toMatchObject([
      { run_id: "run", end: "interrupted", calls: 3, names: ["node 1", "tool a", "tool b"] },
    ]);
  });

  it("are those that a failed task ended with nothing in, unless its graph went on", () => {
    const { calls, watched } = watch([
      task("1"),
      task("1", { result: {} }),
      state,
      task("2"),
      task("2", { result: {} }),
    ]);
    watched.end("error");
    expect(calls.unended()).toEqual([{ kind: "task", end: "error", count: 1 }]);
    expect(lines).toMatchObject([{ names: ["node 2"] }]);
  });

  it("are told of once when they are open for too long, and nobody looks when nothing runs", () => {
    const { calls, watched } = watch([tool("on_tool_start", "a")]);
    vi.advanceTimersByTime(59_000);
    expect([calls.tooLong(), lines]).toEqual([0, []]);
    vi.advanceTimersByTime(30_000);
    expect(calls.tooLong()).toBe(1);
    expect(lines).toMatchObject([{ kind: "tool", name: "tool a", seconds: 60, run_id: "run" }]);
    watched.end("interrupted");
    expect([calls.tooLong(), vi.getTimerCount()]).toEqual([0, 0]);
  });
});
