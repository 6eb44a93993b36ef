// The planning subagent: what to do first, and after each iteration what to do next. It returns tasks; ids and levels
// follow from what the conversation has already, so that the same plan has the same ids however often it is made.
import { z } from "zod";
import type { Ask } from "./ask.ts";
import type { Material } from "./knowledge.ts";
import { type Suggestion, suggestionSchema, type Task } from "./research-state.ts";
import { createSubagent } from "./subagent.ts";

const MAX_TASKS = 6;
const MAX_LEVELS = 3;

const plannedSchema = z.object({
  type: z.enum(["LITERATURE", "ANALYSIS"]),
  objective: z
    .string()
    .min(1)
    .describe("What this task has to find out, understandable without anything else."),
  level: z
    .int()
    .min(1)
    .max(MAX_LEVELS)
    .catch(1)
    .default(1)
    .describe("Tasks of one level run in parallel; a higher level may build on what a lower one has found."),
  datasets: z.array(z.string()).default([]).describe("Filenames of the datasets that an ANALYSIS works on."),
});

const planSchema = z.object({
  currentObjective: z.string().min(1).describe("What this iteration is to find out, in one sentence."),
  tasks: z.array(plannedSchema),
});

interface PlanningInput {
  /** First: for what the user asks. Next: after an iteration; no task means that the objective is reached. */
  readonly mode: "initial" | "next";
  readonly question: string;
  readonly material: Material;
  /** What was suggested before the user answered. */
  readonly suggestedNextSteps: readonly Suggestion[];
}

interface Plan {
  readonly currentObjective: string;
  readonly tasks: readonly Suggestion[];
}

const INSTRUCTIONS = `You plan research. LITERATURE tasks search publications. ANALYSIS tasks run code on datasets that could be read; without such a dataset there are none.
At mode "initial" plan the first tasks for the question: at most ${MAX_TASKS}, independent ones at the same level so that they run in parallel. Heed the clarification, the suggestions and what has been found before. At mode "next" judge what the tasks have found, and plan what the objective still lacks; give no task when it is reached or when further tasks would only repeat.`;

export const createPlanning = (ask: Ask) =>
  createSubagent(ask, {
    name: "planning",
    instructions: INSTRUCTIONS,
    schema: planSchema,
    toPrompt: (input: PlanningInput) => input,
    check: ({ currentObjective, tasks }, { material: { datasets } }): Plan => {
      const filenames = new Set(datasets.map(({ filename }) => filename));
      const kept = tasks.slice(0, MAX_TASKS).map((task) => ({
        ...task,
        datasets: task.datasets.filter((name) => filenames.has(name)).map((filename) => ({ filename })),
      }));
      return { currentObjective, tasks: kept.map((task) => suggestionSchema.parse(task)) };
    },
  });

const PREFIX = { LITERATURE: "lit", ANALYSIS: "ana" } as const;

/** Tasks with ids and levels after those of `before`. */
export function toTasks(
  suggestions: readonly Suggestion[],
  before: readonly Task[],
  iteration: number,
): Task[] {
  const base = Math.max(0, ...before.map(({ level }) => level));
  // Levels without a gap, whatever numbers the model has chosen.
  const levels = [...new Set(suggestions.map(({ level }) => level))].sort((one, other) => one - other);
  const counts = { LITERATURE: 0, ANALYSIS: 0 };
  for (const { type } of before) counts[type]++;
  return suggestions.map(({ type, objective, level, datasets }) => ({
    id: `${PREFIX[type]}-${++counts[type]}`,
    type,
    objective,
    level: base + 1 + levels.indexOf(level),
    iteration,
    datasets,
    reasoning: [],
    status: "pending",
    references: [],
    artifacts: [],
  }));
}
