// The literature subagent: from a task to questions, from questions to sources, from sources to what they say. It
// returns data; a provider that does not answer is told in the output, all of them failing is the task's failure.
import { END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { defineState } from "#kit";
import type { Ask } from "../ask.ts";
import { checkCitations } from "../citations.ts";
import { type Reference, type Task, taskSchema } from "../research-state.ts";
import { type OnProgress, runAloud, type Words } from "../run-aloud.ts";
import type { TaskInput, TaskResult } from "../task-result.ts";
import type { LiteratureProvider, Source } from "./provider.ts";
import { searchAll } from "./search-all.ts";

const MAX_QUERIES = 3;
const MAX_SOURCES = 16;

const State = defineState({
  task: { type: taskSchema },
  question: { type: z.string() },
  queries: { type: z.array(z.string()) },
  sources: { type: z.array(z.custom<Source>()), handler: (_current, next) => next ?? null },
  failures: { type: z.array(z.string()) },
  result: { type: z.custom<TaskResult>() },
});

const queriesSchema = z.object({
  queries: z
    .array(z.string().min(1))
    .min(1)
    .describe(`1 to ${MAX_QUERIES} searches of 2 to 6 words each, in English.`),
});
const summarySchema = z.object({
  output: z
    .string()
    .min(1)
    .describe(
      "What the sources say about the objective, in at most 300 words, each statement with its citation.",
    ),
});

type Update = Partial<typeof State.annotation.State>;
const WORDS: Words = {
  ask_questions: ({ queries }: Update) => `Searches for ${queries?.join("; ")}.`,
  search: ({ sources, failures }: Update) =>
    [`Found ${sources?.length} publications.`, ...(failures ?? [])].join(" "),
};

export function createLiterature(ask: Ask, providers: readonly LiteratureProvider[]) {
  const about = ({ task, question }: { task: Task | null; question: string | null }) => ({
    question,
    objective: task?.objective,
  });
  const graph = new StateGraph(State.annotation)
    .addNode("ask_questions", async (state, config: LangGraphRunnableConfig) => {
      const instructions = "Turn the objective into searches of a database of publications.";
      const question = { step: "queries", instructions, schema: queriesSchema, input: about(state) };
      return { queries: (await ask(question, config)).queries.slice(0, MAX_QUERIES) };
    })
    .addNode("search", async ({ queries }, config: LangGraphRunnableConfig) => {
      const { sources, failures } = await searchAll(providers, queries ?? [], config.signal);
      return { sources: sources.slice(0, MAX_SOURCES), failures: [...failures] };
    })
    .addNode("summarise", async (state, config: LangGraphRunnableConfig) => {
      const { sources, failures, queries } = state;
      if (!sources?.length) return { result: nothing(queries ?? [], failures ?? []) };
      const instructions =
        "Say what these publications tell about the objective. What is in none of them, do not claim.";
      const input = { ...about(state), sources };
      const { output } = await ask(
        { step: "literature", instructions, schema: summarySchema, input },
        config,
      );
      return { result: toResult(output, sources, failures ?? []) };
    })
    .addEdge(START, "ask_questions")
    .addEdge("ask_questions", "search")
    .addEdge("search", "summarise")
    .addEdge("summarise", END)
    .compile({ name: "literature" });
  return {
    graph,
    run: ({ task, question }: TaskInput, config: LangGraphRunnableConfig, onProgress: OnProgress) =>
      runAloud(graph, { task, question }, config, WORDS, onProgress),
  };
}

function nothing(queries: readonly string[], failures: readonly string[]): TaskResult {
  const output = [`Nothing was found for: ${queries.join("; ")}.`, ...failures].join(" ");
  return { output, references: [], artifacts: [], removed: [] };
}

function toResult(output: string, sources: readonly Source[], failures: readonly string[]): TaskResult {
  const references = sources.map(toReference);
  const { text, removed } = checkCitations(output, references);
  return { output: [text, ...failures].join("\n\n"), references, artifacts: [], removed };
}

/** Without the abstract: it lies in the task's own checkpoints, and would make every later state large. */
const toReference = ({ id, title, authors, year, url, doi }: Source): Reference => ({
  id,
  title,
  authors: [...authors],
  url,
  ...(year !== undefined && { year }),
  ...(doi !== undefined && { doi }),
});
