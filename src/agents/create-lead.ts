// The lead agent: model, tools and the fused chain of middlewares, as one compiled graph. Knows no settings of the
// process; lead.ts has them.
import type { StructuredToolInterface } from "@langchain/core/tools";
import { createAgent, type Runtime } from "langchain";
import { z } from "zod";
import { fuseMiddlewares, runSetting, type Sandboxes, type ThreadFiles, ThreadState } from "#kit";
import { createMiddlewares, type MiddlewareOptions } from "../../middlewares/index.ts";
import type { Config } from "../config.ts";
import { LEAD_PROMPT } from "./lead-prompt.ts";
import type { Models } from "./models.ts";
import { createSelectModel } from "./select-model.ts";

type LeadSettings = Pick<Config, "title" | "summarization" | "limits" | "debugState">;

interface LeadOptions {
  readonly files: ThreadFiles;
  readonly sandboxes: Sandboxes;
  readonly models: Models;
  readonly tools: readonly StructuredToolInterface[];
  readonly settings: LeadSettings;
  /** Told of a state that has become large, and of every state when debugState is on. */
  readonly log?: (entry: object) => void;
  /** Further options of single middlewares, over those that follow from the settings. */
  readonly middlewares?: Partial<MiddlewareOptions>;
}

const NAME = "lead";
/** Share of what a model can read that is filled before older messages are summarized. */
const SUMMARIZE_AT = 0.75;

/** What a run may set, as context or in `configurable`; Studio makes a form of it. */
const contextSchema = z.looseObject({
  model_name: z.string().nullish().describe("Name of the model that answers; GET /models lists them."),
  is_plan_mode: z.boolean().nullish().describe("Gives the agent a todo list that it works through."),
  session_id: z.string().nullish().describe("Conversation that the run goes on with, beyond its thread."),
  message_store: z.string().nullish().describe("Where the messages of a new session are kept."),
  service_thread_id: z.string().nullish().describe("Id of a conversation that the model's provider keeps."),
});

/** The compiled graph, without a checkpointer. Needs `configurable.thread_id`. */
export function createLead({ files, sandboxes, models, tools, settings, log, middlewares }: LeadOptions) {
  const { title, summarization, limits, debugState } = settings;
  const chosen = (runtime: Runtime<unknown>) => models.get(runSetting(runtime, "model_name")).chat;
  const chain = createMiddlewares({
    files,
    sandboxes,
    summarization: {
      enabled: summarization.enabled,
      keepMessages: summarization.keep_messages,
      triggerTokens: (model) =>
        summarization.trigger_tokens ?? Math.floor(models.of(model).contextTokens * SUMMARIZE_AT),
    },
    viewImage: { hasVision: (model) => models.of(model).vision },
    // The demo model would write the same title for everything.
    title: { ...title, model: (runtime) => (models.isDemo ? undefined : chosen(runtime)) },
    modelErrors: { maxRetries: (model) => models.of(model).maxRetries },
    stateSize: { warn: log },
    debugState: { enabled: debugState, log },
    ...middlewares,
  });
  const agent = createAgent({
    name: NAME,
    // All calls of a turn in one task: v2 stores the whole state with each call (docs/decisions/0007-one-tool-task.md).
    version: "v1",
    description: "Works on the thread's files with tools, and answers.",
    model: models.default.chat,
    tools: [...tools],
    systemPrompt: LEAD_PROMPT,
    stateSchema: ThreadState.schema,
    contextSchema,
    middleware: [fuseMiddlewares("chain", [createSelectModel(models), ...chain], { agentName: NAME })],
  });
  const { graph } = agent.withConfig({ recursionLimit: limits.recursion_limit });
  // LangChain keeps keys with `_` out of input and output, but not out of the state and streamed values that clients
  // read. `withConfig` has made a copy: the edges of the graph still read every channel.
  graph.streamChannels = graph.streamChannelsList.filter((key) => !key.startsWith("_"));
  return graph;
}
