import { ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command } from "@langchain/langgraph";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import type { Sandbox } from "#kit";
import { createTestAgent, THREAD } from "../test/helpers/test-agent.ts";
import { createSandbox } from "./sandbox.ts";

/** Sandboxes that only count; `bash` acquires one as the real tool does, `look` needs none. */
function createFakes() {
  const held = new Map<string, Sandbox>();
  const acquired: string[] = [];
  const sandboxes = {
    current: (threadId: string) => held.get(threadId),
    acquire: async (threadId: string) => {
      acquired.push(threadId);
      const sandbox: Sandbox = {
        id: `fake:${threadId}`,
        execute: async () => ({ exit_code: 0, output: "done", truncated: false, timed_out: false }),
      };
      if (!held.has(threadId)) held.set(threadId, sandbox);
      return sandbox;
    },
  };
  const schema = z.object({});
  const bash = tool(
    async (_input, config) => {
      await sandboxes.acquire(config.configurable?.thread_id);
      return "done";
    },
    { name: "bash", description: "Runs.", schema },
  );
  const show = tool(
    async (_input, config) => {
      await sandboxes.acquire(config.configurable?.thread_id);
      const message = new ToolMessage({ content: "shown", tool_call_id: config.toolCall.id });
      return new Command({ update: { artifacts: ["/mnt/user-data/outputs/a.md"], messages: [message] } });
    },
    { name: "show", description: "Shows.", schema },
  );
  const look = tool(() => "seen", { name: "look", description: "Looks.", schema });
  return { sandboxes, held, acquired, tools: [bash, show, look] };
}

const calls = (...names: string[]) => ({ tool_calls: names.map((name) => ({ name, args: {} })) });

describe("the sandbox id", () => {
  test("is in the state after the first command, and not before", async () => {
    const { sandboxes, acquired, tools } = createFakes();
    const agent = createTestAgent({
      middleware: [createSandbox({ sandboxes })],
      tools,
      script: ["no command", calls("look"), "seen", calls("bash"), "done"],
    });
    expect((await agent.turn("1")).sandbox).toBeNull();
    expect((await agent.turn("2")).sandbox).toBeNull();
    expect(acquired).toEqual([]);
    expect((await agent.turn("3")).sandbox).toEqual({ sandbox_id: `fake:${THREAD}` });
  });

  test("survives parallel first uses, and leaves the tools' own updates alone", async () => {
    const { sandboxes, tools } = createFakes();
    const agent = createTestAgent({
      middleware: [createSandbox({ sandboxes })],
      tools,
      script: [calls("bash", "show", "bash"), "done"],
    });
    const state = await agent.turn("go");
    expect(state.sandbox).toEqual({ sandbox_id: `fake:${THREAD}` });
    expect(state.artifacts).toEqual(["/mnt/user-data/outputs/a.md"]);
    expect(state.messages.map(({ text }) => text)).toEqual(["go", "", "done", "shown", "done", "done"]);
  });

  test("stays over the turns of the thread and is written once", async () => {
    const { sandboxes, tools } = createFakes();
    const agent = createTestAgent({
      middleware: [createSandbox({ sandboxes })],
      tools,
      script: [calls("bash"), "done", calls("bash"), "done"],
    });
    await agent.turn("1");
    const updates = await agent.stream("2", "updates");
    expect(JSON.stringify(updates)).not.toContain("sandbox_id");
    expect((await agent.state()).sandbox).toEqual({ sandbox_id: `fake:${THREAD}` });
  });

  test("of another thread, brought along by a copy, is replaced at the first command", async () => {
    const { sandboxes, tools } = createFakes();
    const agent = createTestAgent({
      middleware: [createSandbox({ sandboxes })],
      tools,
      script: [calls("bash"), "done"],
    });
    const state = await agent.turn({ messages: [], sandbox: { sandbox_id: "fake:other" } });
    expect(state.sandbox).toEqual({ sandbox_id: `fake:${THREAD}` });
  });
});

test("without lazyInit the sandbox is there before the model answers", async () => {
  const { sandboxes, acquired, tools } = createFakes();
  const agent = createTestAgent({
    middleware: [createSandbox({ sandboxes, lazyInit: false })],
    tools,
    script: ["hello"],
  });
  expect((await agent.turn("hi")).sandbox).toEqual({ sandbox_id: `fake:${THREAD}` });
  expect(acquired).toEqual([THREAD]);
});
