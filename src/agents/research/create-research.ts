// The research agent (document 002) as one graph: files, clarification, plan, tasks in parallel by level, hypothesis,
// reflection, discovery, next steps, reply. A node that asks a subagent puts what it returned into the graph's state;
// the node after it writes the conversation. So a node that runs again after a crash writes the same again.

import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { END, START, StateGraph } from "@langchain/langgraph";
import {
  conversationOf,
  createMemoryConversations,
  type OpenConversation,
  runSetting,
  type Sandboxes,
  type ThreadFiles,
} from "#kit";
import type { Models } from "../models.ts";
import { createAnalysis } from "./analysis/analysis-graph.ts";
import { createCodeRunner } from "./analysis/run-code.ts";
import { createAsk } from "./ask.ts";
import { createClarification } from "./clarification.ts";
import { createDiscovery, createHypothesis, createReflection } from "./conclusions.ts";
import type { ReadLimits } from "./files/file-report.ts";
import { createFileUpload } from "./files/upload-graph.ts";
import { createLiterature } from "./literature/literature-graph.ts";
import type { LiteratureProvider } from "./literature/provider.ts";
import { createBeginning } from "./nodes/beginning.ts";
import { createConclusions } from "./nodes/conclusions.ts";
import { createPlans } from "./nodes/plans.ts";
import { createPlanning } from "./planning.ts";
import { createReply } from "./reply.ts";
import { ResearchState } from "./research-state.ts";
import { contextSchema, type IterationSettings, type Mode } from "./run-mode.ts";
import { createTaskNode } from "./run-task.ts";

interface ResearchSettings {
  readonly mode: Mode;
  readonly iterations: IterationSettings;
  readonly limits: ReadLimits;
  /** Of one run of an analysis' code. */
  readonly codeTimeoutMs: number;
}

interface ResearchOptions {
  readonly files: ThreadFiles;
  readonly sandboxes: Sandboxes;
  readonly models: Models;
  readonly providers: readonly LiteratureProvider[];
  readonly settings: ResearchSettings;
  /** Where no server gives the run its conversation; in memory by default. */
  readonly fallback?: OpenConversation;
}

/** Iterations are what bounds a run; one has some 15 supersteps. */
const RECURSION_LIMIT = 1_000;

/** The compiled graph, without a checkpointer. Needs `configurable.thread_id`. */
export function createResearch(options: ResearchOptions) {
  const { files, sandboxes, models, providers, settings, fallback = createMemoryConversations() } = options;
  const open = (config: LangGraphRunnableConfig) => conversationOf(config, fallback);
  const modelOf = (config: LangGraphRunnableConfig) => models.get(runSetting(config, "model_name")).chat;
  const ask = createAsk(modelOf);
  const runner = createCodeRunner({ files, sandboxes, timeoutMs: settings.codeTimeoutMs });
  const upload = createFileUpload({ files, limits: settings.limits });
  const clarification = createClarification(ask);
  const planning = createPlanning(ask);
  const literature = createLiterature(ask, providers);
  const analysis = createAnalysis(ask, runner);
  const [hypothesis, reflection, discovery] = [
    createHypothesis(ask),
    createReflection(ask),
    createDiscovery(ask),
  ];
  const reply = createReply(modelOf);

  const begin = createBeginning({ open, modelOf, upload, clarification, settings });
  const plans = createPlans({ open, planning, settings });
  const conclude = createConclusions({ open, hypothesis, reflection, discovery, reply });

  return new StateGraph(ResearchState.graphSchema, {
    // A client sends messages; the rest is the graph's own.
    input: ResearchState.pick().graphSchema,
    context: contextSchema,
  })
    .addNode("begin", begin.begin)
    .addNode("upload_files", begin.uploadFiles, { subgraphs: [upload.graph] })
    .addNode("record_files", begin.recordFiles)
    .addNode("clarify", begin.clarify, { subgraphs: [clarification.graph] })
    .addNode("await_answers", begin.awaitAnswers)
    .addNode("record_clarification", begin.recordClarification)
    .addNode("make_plan", plans.makePlan, { subgraphs: [planning.graph] })
    .addNode("record_plan", plans.recordPlan)
    .addNode("literature", createTaskNode(literature, open) as never, { subgraphs: [literature.graph] })
    .addNode("analysis", createTaskNode(analysis, open) as never, { subgraphs: [analysis.graph] })
    .addNode("finish_level", plans.finishLevel)
    .addNode("form_hypothesis", conclude.formHypothesis, { subgraphs: [hypothesis.graph] })
    .addNode("record_hypothesis", conclude.recordHypothesis)
    .addNode("reflect", conclude.reflect, { subgraphs: [reflection.graph] })
    .addNode("record_reflection", conclude.recordReflection)
    .addNode("discover", conclude.discover, { subgraphs: [discovery.graph] })
    .addNode("record_discoveries", conclude.recordDiscoveries)
    .addNode("suggest_next", plans.suggestNext, { subgraphs: [planning.graph] })
    .addNode("record_suggestions", plans.recordSuggestions)
    .addNode("take_suggestions", plans.takeSuggestions)
    .addNode("write_reply", conclude.writeReply, { subgraphs: [reply.graph] })
    .addNode("record_reply", conclude.recordReply)
    .addEdge(START, "begin")
    .addEdge("begin", "upload_files")
    .addEdge("upload_files", "record_files")
    .addConditionalEdges("record_files", begin.needsClarification, ["clarify", "make_plan"])
    .addConditionalEdges("clarify", begin.hasQuestions, ["await_answers", "record_clarification"])
    .addEdge("await_answers", "record_clarification")
    .addEdge("record_clarification", "make_plan")
    .addEdge("make_plan", "record_plan")
    .addConditionalEdges("record_plan", plans.nextLevel, [
      "literature",
      "analysis",
      "form_hypothesis",
      "write_reply",
    ])
    .addEdge("literature", "finish_level")
    .addEdge("analysis", "finish_level")
    .addConditionalEdges("finish_level", plans.nextLevel, [
      "literature",
      "analysis",
      "form_hypothesis",
      "write_reply",
    ])
    .addEdge("form_hypothesis", "record_hypothesis")
    .addEdge("record_hypothesis", "reflect")
    .addEdge("reflect", "record_reflection")
    .addEdge("record_reflection", "discover")
    .addEdge("discover", "record_discoveries")
    .addEdge("record_discoveries", "suggest_next")
    .addEdge("suggest_next", "record_suggestions")
    .addConditionalEdges("record_suggestions", plans.goesOn, ["take_suggestions", "write_reply"])
    .addEdge("take_suggestions", "record_plan")
    .addEdge("write_reply", "record_reply")
    .addEdge("record_reply", END)
    .compile({ name: "research" })
    .withConfig({ recursionLimit: RECURSION_LIMIT });
}
