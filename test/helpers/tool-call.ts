// Calls a tool as an agent's tool node does, on real files in a temporary data directory.
import { randomUUID } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { isCommand } from "@langchain/langgraph";
import type { ThreadFiles } from "#kit";
import { createThreadFiles } from "../../src/files/thread-files.ts";

export interface ToolSetting {
  readonly dataDir: string;
  readonly files: ThreadFiles;
  readonly threadId: string;
  /** What the model reads. */
  call(tool: StructuredToolInterface, args: object, signal?: AbortSignal): Promise<string>;
  /** What the tool writes to the state, messages included. */
  update(tool: StructuredToolInterface, args: object): Promise<Record<string, unknown>>;
  /** The message of its failure; fails when the tool does not, or when a host path is in it. */
  failure(tool: StructuredToolInterface, args: object, signal?: AbortSignal): Promise<string>;
  onDisk(path: string): string;
  close(): Promise<void>;
}

export async function openToolSetting(): Promise<ToolSetting> {
  const dataDir = await mkdtemp(join(tmpdir(), "heddle-tool-"));
  const files = createThreadFiles({ dataDir });
  const threadId = randomUUID();

  const invoke = (tool: StructuredToolInterface, args: object, signal?: AbortSignal): Promise<unknown> =>
    tool.invoke(
      { type: "tool_call", id: "call_1", name: tool.name, args: args as Record<string, unknown> },
      { configurable: { thread_id: threadId }, signal },
    );

  async function update(tool: StructuredToolInterface, args: object): Promise<Record<string, unknown>> {
    const result = await invoke(tool, args);
    if (!isCommand(result) || Array.isArray(result.update)) throw new Error("the tool wrote no state");
    return { ...result.update };
  }

  return {
    dataDir,
    files,
    threadId,
    update,
    async call(tool, args, signal) {
      const result = await invoke(tool, args, signal);
      const message = isCommand(result) ? messageIn(result.update) : result;
      if (!ToolMessage.isInstance(message)) throw new Error("the tool gave no message");
      if (message.tool_call_id !== "call_1") throw new Error("the message answers no call");
      return refuseHostPaths(message.text, dataDir, threadId);
    },
    async failure(tool, args, signal) {
      const error = await invoke(tool, args, signal).then(
        () => undefined,
        (reason: unknown) => reason,
      );
      if (!(error instanceof Error)) throw new Error("the tool did not fail");
      return refuseHostPaths(error.message, dataDir, threadId);
    },
    onDisk: (path) => join(dataDir, "threads", threadId, "user-data", path),
    close: () => rm(dataDir, { recursive: true, force: true }),
  };
}

function messageIn(update: unknown): unknown {
  const messages = (update as { messages?: unknown[] } | undefined)?.messages;
  return messages?.[0];
}

function refuseHostPaths(text: string, dataDir: string, threadId: string): string {
  if (text.includes(dataDir) || text.includes(threadId)) throw new Error(`a host path is in: ${text}`);
  return text;
}
