// The tools in an agent: what a model is told of them, and how a failing one goes on.
import { ToolMessage } from "@langchain/core/messages";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import type { Sandboxes } from "#kit";
import { createSandboxes } from "../src/sandbox/sandboxes.ts";
import { createTestAgent } from "../test/helpers/test-agent.ts";
import { openToolSetting, type ToolSetting } from "../test/helpers/tool-call.ts";
import { createTools } from "./index.ts";

let setting: ToolSetting;
let sandboxes: Sandboxes;
beforeEach(async () => {
  setting = await openToolSetting();
  sandboxes = createSandboxes({ provider: "virtual", dataDir: setting.dataDir, files: setting.files });
});
afterEach(async () => {
  await sandboxes.close();
  await setting.close();
});

describe("the tools", () => {
  it("have the names and arguments that the model is used to", () => {
    const tools = createTools({ files: setting.files, sandboxes }).map((tool) => {
      const { name, parameters } = convertToOpenAITool(tool).function;
      return [name, Object.keys((parameters as { properties: object }).properties)];
    });
    expect(Object.fromEntries(tools)).toEqual({
      bash: ["description", "command"],
      ls: ["description", "path"],
      read_file: ["description", "path", "start_line", "end_line"],
      write_file: ["description", "path", "content", "append"],
      str_replace: ["description", "path", "old_str", "new_str", "replace_all"],
      glob: ["description", "pattern", "path", "include_dirs", "max_results"],
      grep: ["description", "pattern", "path", "glob", "literal", "case_sensitive", "max_results"],
      view_image: ["image_path"],
      present_files: ["file_paths"],
    });
  });

  it("require of the model only what they cannot do without", () => {
    for (const tool of createTools({ files: setting.files, sandboxes })) {
      const { parameters } = convertToOpenAITool(tool).function;
      const required = (parameters as { required?: string[] }).required ?? [];
      expect(required, tool.name).not.toContain("description");
      expect(required, tool.name).not.toContain("append");
      expect(required, tool.name).not.toContain("max_results");
    }
  });

  it("work together in one turn, several at once, and a failure is an answer that the model can use", async () => {
    const O = "/mnt/user-data/outputs";
    const agent = createTestAgent({
      middleware: [],
      tools: createTools({ files: setting.files, sandboxes }),
      script: [
        {
          tool_calls: [
            { name: "write_file", args: { path: `${O}/a.md`, content: "A" } },
            { name: "write_file", args: { path: `${O}/b.md`, content: "B" } },
            { name: "read_file", args: { path: "/etc/passwd" } },
            { name: "bash", args: { command: "echo $((6 * 7))" } },
          ],
        },
        {
          tool_calls: [
            { name: "present_files", args: { file_paths: [`${O}/a.md`] } },
            { name: "present_files", args: { file_paths: [`${O}/b.md`, `${O}/a.md`] } },
          ],
        },
        "done",
      ],
    });
    const state = await agent.turn("go");
    expect(state.artifacts).toEqual([`${O}/a.md`, `${O}/b.md`]);
    const messages = (state as unknown as { messages: unknown[] }).messages.filter(ToolMessage.isInstance);
    expect(messages.map((message) => message.status ?? "success")).toEqual([
      "success",
      "success",
      "error",
      "success",
      "success",
      "success",
    ]);
    expect(messages[2]?.text).toContain("not inside");
    expect(messages[3]?.text).toBe("42");
    for (const message of messages) expect(message.text).not.toContain(setting.dataDir);
  });
});
