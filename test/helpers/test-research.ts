// The research agent in this process: on a scripted model or the demo model, with files, a sandbox, and providers that
// answer from records or as a test says. Its conversation is in memory.
import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { type Command, MemorySaver } from "@langchain/langgraph";
import { onTestFinished } from "vitest";
import { type ConversationStateValues, createMemoryConversations } from "#kit";
import type { Models } from "../../src/agents/models.ts";
import { createResearch } from "../../src/agents/research/create-research.ts";
import { demoResearch } from "../../src/agents/research/demo-research.ts";
import { READ_LIMITS } from "../../src/agents/research/files/file-report.ts";
import type { LiteratureProvider, Source } from "../../src/agents/research/literature/provider.ts";
import type { ResearchState } from "../../src/agents/research/research-state.ts";
import { openSandboxThread } from "./sandbox-thread.ts";
import { ScriptedModel } from "./scripted-model.ts";

const SOURCES: readonly Source[] = [
  {
    id: "openalex:W1",
    title: "Rain",
    authors: ["Ada Marsh"],
    year: 2019,
    url: "https://doi.org/10.5555/1",
    doi: "10.5555/1",
    abstract: "It rains.",
  },
  {
    id: "arxiv:2011.1",
    title: "Heat",
    authors: [],
    url: "https://arxiv.org/abs/2011.1",
    abstract: "It is warm.",
  },
];

type Answer = object | string;
type Answers = Readonly<Record<string, (input: never, number: number) => Answer | Promise<Answer>>>;

interface Options {
  /** By step: text, JSON, or the message as it is; a step without one is the demo model's. */
  readonly answers?: Answers;
  readonly search?: LiteratureProvider["search"];
  /** In the place of the scripted model. */
  readonly models?: Models;
}

/** The step that a prompt is for, and what it is given. */
function readPrompt(text: string) {
  const [, step = "", input = "{}"] = /^<step>(\w+)<\/step>\s*<input>([\s\S]*)<\/input>$/.exec(text) ?? [];
  return { step, input: JSON.parse(input) as never };
}

export async function createTestResearch({
  answers = {},
  search = async () => [...SOURCES],
  ...more
}: Options = {}) {
  const thread = await openSandboxThread({ provider: "virtual" });
  onTestFinished(() => thread.close());
  const counts = new Map<string, number>();
  const asked: { readonly step: string; readonly input: never }[] = [];
  const chat = new ScriptedModel(async ({ messages }) => {
    // After an answer that could not be used the step is asked once more, further down.
    const prompt = messages.find((message) => message.text.startsWith("<step>"));
    const { step, input } = readPrompt(prompt?.text ?? "");
    const number = (counts.get(step) ?? 0) + 1;
    counts.set(step, number);
    asked.push({ step, input });
    const answer = (await answers[step]?.(input, number)) ?? demoResearch(prompt ? [prompt] : []) ?? "";
    if (AIMessage.isInstance(answer)) return { message: answer };
    return typeof answer === "string" ? answer : JSON.stringify(answer);
  });
  const model = { name: "scripted", chat, vision: false, maxRetries: 0, contextTokens: 128_000 };
  const models: Models = more.models ?? { default: model, isDemo: false, get: () => model, of: () => model };
  const fallback = createMemoryConversations();
  const graph = createResearch({
    files: thread.files,
    sandboxes: thread.sandboxes,
    models,
    providers: [{ name: "Records", search }],
    settings: {
      mode: "fully-autonomous",
      iterations: { semi_autonomous: 3, fully_autonomous: 5 },
      limits: READ_LIMITS,
      codeTimeoutMs: 30_000,
    },
    fallback,
  });
  graph.checkpointer = new MemorySaver();
  const config = (configurable: object = {}) => ({
    configurable: { thread_id: thread.threadId, ...configurable },
  });
  await thread.files.ensure(thread.threadId);
  return {
    graph,
    /** Every question to the model, in order. */
    asked,
    steps: () => asked.map(({ step }) => step),
    upload: (name: string, content: string | Uint8Array) =>
      thread.files.write(thread.threadId, `/mnt/user-data/uploads/${name}`, content),
    files: thread.files,
    threadId: thread.threadId,
    run: async (input: string | Command, configurable: object = {}) =>
      (await graph.invoke(
        (typeof input === "string" ? { messages: [new HumanMessage(input)] } : input) as never,
        config(configurable),
      )) as unknown as ResearchState & { __interrupt__?: { value: unknown }[] },
    conversation: async (): Promise<ConversationStateValues> =>
      (await fallback({ threadId: thread.threadId, runId: "test" }).read()).values,
    config,
  };
}
