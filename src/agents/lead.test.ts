// The whole agent with its real tools and files, on the demo model: what someone sees who starts it without a key.
import { randomUUID } from "node:crypto";
import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { expect, onTestFinished, test } from "vitest";
import type { ThreadState } from "#kit";
import { temporaryFiles } from "../../test/helpers/temporary-files.ts";
import { createTools } from "../../tools/index.ts";
import { fileSchema } from "../config/file.ts";
import { createSandboxes } from "../sandbox/sandboxes.ts";
import { createLead } from "./create-lead.ts";
import { createModels } from "./models.ts";

async function createDemoLead() {
  const files = await temporaryFiles();
  const sandboxes = createSandboxes({ provider: "virtual", dataDir: files.dataDir, files });
  onTestFinished(() => sandboxes.close());
  const graph = createLead({
    files,
    sandboxes,
    models: createModels([]),
    tools: createTools({ files, sandboxes }),
    settings: { ...fileSchema.parse({}), debugState: false },
  });
  graph.checkpointer = new MemorySaver();
  const threadId = randomUUID();
  const config = { configurable: { thread_id: threadId, is_plan_mode: true } };
  const turn = async (text: string) =>
    (await graph.invoke({ messages: [new HumanMessage(text)] }, config)) as unknown as ThreadState;
  return { files, threadId, turn, graph, config };
}

test("the demo model plans, looks at an upload, writes, presents and answers, turn after turn", async () => {
  const { files, threadId, turn } = await createDemoLead();
  await files.write(threadId, "/mnt/user-data/uploads/figures (1).csv", "month,sum\nMay,7\n");

  const first = await turn("What is in the file?");
  expect(
    first.messages.filter((one) => ToolMessage.isInstance(one)).map(({ status }) => status),
  ).not.toContain("error");
  expect(first.messages.map(({ text }) => text).join("\n")).toContain("May,7");
  expect(first.uploaded_files).toMatchObject([{ filename: "figures (1).csv", extension: ".csv" }]);
  expect(first.todos?.map(({ status }) => status)).toEqual(["completed", "completed", "completed"]);
  expect(first.artifacts).toEqual(["/mnt/user-data/outputs/demo-1.md"]);
  expect(first.sandbox).toEqual({ sandbox_id: `virtual:${threadId}` });
  expect(first.title).toBe("What is in the file?...");
  expect(first.viewed_images).toEqual({});
  const report = await files.read(threadId, "/mnt/user-data/outputs/demo-1.md");
  expect(report.toString()).toContain("> What is in the file?");

  const second = await turn("And now?");
  expect(second.uploaded_files).toEqual([]);
  expect(second.artifacts).toEqual(["/mnt/user-data/outputs/demo-1.md", "/mnt/user-data/outputs/demo-2.md"]);
  expect(second.messages.at(-1)?.text).toContain("You began with: “What is in the file?”");
  expect(second.title).toBe("What is in the file?...");
});

test("no state, message or streamed event holds a path of the host", async () => {
  const { files, graph, config, threadId } = await createDemoLead();
  await files.write(threadId, "/mnt/user-data/uploads/a.txt", "text");
  const input = { messages: [new HumanMessage("Look.")] };
  const seen: unknown[] = [];
  const streamMode: ("values" | "updates" | "messages" | "custom")[] = [
    "values",
    "updates",
    "messages",
    "custom",
  ];
  for await (const event of await graph.stream(input, { ...config, streamMode })) seen.push(event);
  expect(seen.length).toBeGreaterThan(20);
  expect(JSON.stringify(seen)).not.toContain(files.dataDir);
  expect(JSON.stringify(seen)).not.toContain(process.cwd());
});
