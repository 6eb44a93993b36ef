// The analysis subagent: the model writes code, the sandbox runs it, and what it printed is all that the model may
// claim. Code that fails is mended twice. It returns data and the files it has made.
import { END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { defineState, threadIdOf } from "#kit";
import type { Ask } from "../ask.ts";
import { checkCitations } from "../citations.ts";
import { type OnProgress, runAloud, type Words } from "../run-aloud.ts";
import type { TaskInput, TaskResult } from "../task-result.ts";
import { type CodeRun, type CodeRunner, LANGUAGES, type Language, outputsOf, toFailure } from "./run-code.ts";

const MAX_RUNS = 3;

const State = defineState({
  input: { type: z.custom<TaskInput>() },
  script: { type: z.object({ language: z.enum(LANGUAGES), code: z.string() }) },
  runs: {
    type: z.array(z.custom<CodeRun>()).default([]),
    // As they come: two that fail alike are still two.
    handler: (current, next) => [...(current ?? []), ...(next ?? [])],
  },
  result: { type: z.custom<TaskResult>() },
});

const interpretationSchema = z.object({
  output: z
    .string()
    .min(1)
    .describe("What the printed figures say about the objective, in at most 200 words."),
});

const WRITE = `Write a program that answers the objective from the datasets. It runs in a sandbox without network, with the files at their paths. It prints its result to standard output, short and labelled: figures, small tables, no raw data. Files for the user go into the folder "outputs". Use only the language's own library unless you check that another is there.`;
const INTERPRET =
  "Say what the output of this analysis shows, with figures from it. Claim nothing that it does not show. Cite it by the id in cite.";

type Update = Partial<typeof State.annotation.State>;
const WORDS: Words = {
  write_code: ({ script }: Update) =>
    `Wrote ${script?.code.split("\n").length} lines of ${script?.language}.`,
  run_code: ({ runs }: Update) => `Ran the code: exit code ${runs?.at(-1)?.exitCode}.`,
};

export function createAnalysis(ask: Ask, runner: CodeRunner) {
  const given = ({ task, question, datasets, before }: TaskInput) => ({
    question,
    objective: task.objective,
    datasets: datasets.map(({ filename, path, description, columns, content }) => ({
      filename,
      path,
      description,
      columns,
      preview: content?.slice(0, 1_500).toWellFormed(),
    })),
    before,
    outputs: outputsOf(task.id),
  });
  const graph = new StateGraph(State.annotation)
    .addNode("write_code", async (state, config: LangGraphRunnableConfig) => {
      const input = inputOf(state);
      const { languages, lacks } = await runner.describe(threadIdOf(config), config.signal);
      const schema = z.object({
        language: z.enum(languages as [Language, ...Language[]]),
        code: z.string().min(1),
      });
      const shown = { ...given(input), languages, lacks, failedRuns: state.runs };
      return { script: await ask({ step: "code", instructions: WRITE, schema, input: shown }, config) };
    })
    .addNode("run_code", async ({ input, script }, config: LangGraphRunnableConfig) => {
      const { task } = inputOf({ input });
      if (!script) throw new TypeError("There is no code to run.");
      const place = { threadId: threadIdOf(config), taskId: task.id };
      return { runs: [await runner.run(place, script, config.signal)] };
    })
    .addNode("interpret", async (state, config: LangGraphRunnableConfig) => {
      const input = inputOf(state);
      const { task } = input;
      const last = state.runs?.at(-1);
      const cite = `task:${task.id}`;
      const shown = { ...given(input), cite, code: last?.code, printed: last?.output };
      const { output } = await ask(
        { step: "analysis", instructions: INTERPRET, schema: interpretationSchema, input: shown },
        config,
      );
      const { text, removed } = checkCitations(output, [{ id: cite, title: task.objective, authors: [] }]);
      const artifacts = await runner.artifacts({ threadId: threadIdOf(config), taskId: task.id });
      const result: TaskResult = {
        output: `${text}\n\nPrinted:\n${(last?.output ?? "").slice(0, 2_000).toWellFormed().trim()}`,
        references: [],
        artifacts,
        removed,
      };
      return { result };
    })
    .addNode("give_up", ({ runs }) => {
      throw toFailure(runs ?? []);
    })
    .addEdge(START, "write_code")
    .addEdge("write_code", "run_code")
    .addConditionalEdges("run_code", ({ runs }) => afterRun(runs ?? []), [
      "write_code",
      "interpret",
      "give_up",
    ])
    .addEdge("interpret", END)
    .addEdge("give_up", END)
    .compile({ name: "analysis" });
  return {
    graph,
    run: (input: TaskInput, config: LangGraphRunnableConfig, onProgress: OnProgress) =>
      runAloud(graph, { input }, config, WORDS, onProgress),
  };
}

function afterRun(runs: readonly CodeRun[]): "interpret" | "write_code" | "give_up" {
  if (runs.at(-1)?.exitCode === 0) return "interpret";
  return runs.length < MAX_RUNS ? "write_code" : "give_up";
}

function inputOf({ input }: { input: TaskInput | null }): TaskInput {
  if (!input) throw new TypeError("An analysis needs its task.");
  return input;
}
