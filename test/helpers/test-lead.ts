// The lead agent on a scripted model, with the files of a thread on disk, tools that act in memory, and no sandbox.
import { randomUUID } from "node:crypto";
import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { z } from "zod";
import type { Sandboxes, ThreadState } from "#kit";
import { createLead } from "../../src/agents/create-lead.ts";
import type { Model, Models } from "../../src/agents/models.ts";
import { fileSchema } from "../../src/config/file.ts";
import { ScriptedModel } from "./scripted-model.ts";
import { temporaryFiles } from "./temporary-files.ts";

interface TestLeadOptions {
  readonly others?: Readonly<Record<string, ScriptedModel>>;
  readonly recursionLimit?: number;
  /** What `act`, a tool of no consequence, does. */
  readonly act?: (input: unknown) => unknown;
}

export async function createTestLead(
  script: ConstructorParameters<typeof ScriptedModel>[0] | ScriptedModel,
  { others = {}, recursionLimit = 50, act = () => "acted" }: TestLeadOptions = {},
) {
  const files = await temporaryFiles();
  const model = script instanceof ScriptedModel ? script : new ScriptedModel(script);
  const ran: string[] = [];
  const run = (what: string, result: string) => {
    ran.push(what);
    return result;
  };
  const { title, summarization, limits } = fileSchema.parse({ limits: { recursion_limit: recursionLimit } });
  const graph = createLead({
    files,
    sandboxes: noSandboxes,
    models: toModels({ scripted: model, ...others }),
    tools: [
      tool(({ command }) => run(command, "ran"), {
        name: "bash",
        description: "Runs.",
        schema: z.object({ command: z.string() }),
      }),
      tool(({ path }) => run(path, `Wrote ${path}.`), {
        name: "write_file",
        description: "Writes.",
        schema: z.object({ path: z.string(), content: z.string() }),
      }),
      tool((input) => act(input), {
        name: "act",
        description: "Acts.",
        schema: z.object({ count: z.number() }),
      }),
    ],
    settings: { title, summarization, limits, debugState: false },
    middlewares: {
      title: { model: () => new ScriptedModel(["A title"]) },
      modelErrors: { maxRetries: () => 2, wait: async () => undefined },
    },
  });
  graph.checkpointer = new MemorySaver();
  const threadId = randomUUID();
  const withThread = ({ configurable = {}, ...more }: { configurable?: object; context?: object }) => ({
    ...more,
    configurable: { thread_id: threadId, ...configurable },
  });
  const toInput = (input: string | BaseMessage[]) => ({
    messages: typeof input === "string" ? [new HumanMessage(input)] : input,
  });
  return {
    graph,
    model,
    files,
    threadId,
    /** What bash and write_file were called with. */
    ran,
    turn: async (input: string | BaseMessage[], options = {}) =>
      (await graph.invoke(toInput(input) as never, withThread(options))) as unknown as ThreadState,
    stream: async (
      input: string | BaseMessage[],
      streamMode: "updates" | "messages" | "values",
      options = {},
    ) => {
      const chunks: unknown[] = [];
      const stream = await graph.stream(toInput(input) as never, { ...withThread(options), streamMode });
      for await (const chunk of stream) chunks.push(chunk);
      return chunks;
    },
    state: async () => (await graph.getState(withThread({}))).values as unknown as ThreadState,
  };
}

const noSandboxes: Sandboxes = {
  describe: async () => ({ name: "virtual", lacks: [] }),
  acquire: () => Promise.reject(new Error("There is no sandbox in this test.")),
  current: () => undefined,
  release: async () => undefined,
  close: async () => undefined,
};

function toModels(chats: Readonly<Record<string, ScriptedModel>>): Models {
  const models = Object.entries(chats).map(
    ([name, chat]): Model => ({ name, chat, vision: true, maxRetries: 2, contextTokens: 128_000 }),
  );
  const [first] = models;
  if (!first) throw new Error("A test needs a model.");
  return {
    default: first,
    isDemo: false,
    get: (name) => {
      const model = name === undefined ? first : models.find((one) => one.name === name);
      if (model) return model;
      throw new Error(
        `There is no model ${JSON.stringify(name)}; there is ${Object.keys(chats).join(", ")}.`,
      );
    },
    of: (chat) => models.find((model) => model.chat === chat) ?? first,
  };
}
