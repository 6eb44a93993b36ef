import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { temporaryFiles } from "../test/helpers/temporary-files.ts";
import { createTestAgent, THREAD } from "../test/helpers/test-agent.ts";
import { createThreadData } from "./thread-data.ts";

const folders = (dataDir: string) =>
  readdir(path.join(dataDir, "threads", THREAD, "user-data")).catch(() => undefined);

test("the state gets the thread's paths, relative to the data directory, and no folder is made", async () => {
  const files = await temporaryFiles();
  const agent = createTestAgent({ middleware: [createThreadData({ files })], script: ["hello"] });
  const { thread_data } = await agent.turn("hi");
  expect(thread_data).toEqual({
    workspace_path: `threads/${THREAD}/user-data/workspace`,
    uploads_path: `threads/${THREAD}/user-data/uploads`,
    outputs_path: `threads/${THREAD}/user-data/outputs`,
  });
  expect(await folders(files.dataDir)).toBeUndefined();
});

test("without lazyInit the folders are there before the model answers", async () => {
  const files = await temporaryFiles();
  const seen: unknown[] = [];
  const agent = createTestAgent({
    middleware: [createThreadData({ files, lazyInit: false })],
    script: async () => {
      seen.push(await folders(files.dataDir));
      return "hello";
    },
  });
  await agent.turn("hi");
  expect(seen).toEqual([["outputs", "uploads", "workspace"]]);
});

test("the paths are written once per thread, and again when another thread's state was brought along", async () => {
  const files = await temporaryFiles();
  const agent = createTestAgent({ middleware: [createThreadData({ files })], script: ["1", "2", "3"] });
  const writes = async (input: Parameters<typeof agent.stream>[0]) => {
    const [update] = (await agent.stream(input, "updates")) as Record<string, { thread_data?: unknown }>[];
    return update?.["thread-data.before_agent"]?.thread_data !== undefined;
  };
  expect(await writes("first")).toBe(true);
  expect(await writes("second")).toBe(false);
  const foreign = { messages: [], thread_data: { workspace_path: "threads/other/user-data/workspace" } };
  expect(await writes(foreign)).toBe(true);
  expect((await agent.state()).thread_data?.workspace_path).toContain(THREAD);
});

test("a run without a thread is refused with a reason", async () => {
  const files = await temporaryFiles();
  const agent = createTestAgent({ middleware: [createThreadData({ files })], script: ["hello"] });
  agent.graph.checkpointer = false;
  await expect(agent.turn("hi", { configurable: { thread_id: undefined } })).rejects.toThrow(
    "needs configurable.thread_id",
  );
});
