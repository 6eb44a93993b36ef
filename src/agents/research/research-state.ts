// The state of a research run: what its subagents have returned. What the conversation has learned is beside it
// (`#kit`, Conversation); a node puts what a model has said here first and patches the conversation in the node that
// follows, so that a node that runs twice writes the same.
import { z } from "zod";
import { defineState, mergeArtifacts, mergeLists, type StateOf } from "#kit";

const referenceSchema = z.looseObject({
  id: z.string(),
  title: z.string(),
  authors: z.array(z.string()).default([]),
  year: z.number().nullish(),
  url: z.string().optional(),
  doi: z.string().optional(),
});
/** What a task has returned and a claim may cite. */
export type Reference = z.output<typeof referenceSchema>;

export const taskSchema = z.looseObject({
  /** `lit-1`, `ana-2`: counted over the conversation. */
  id: z.string(),
  type: z.enum(["LITERATURE", "ANALYSIS"]),
  objective: z.string(),
  /** Tasks of one level run in parallel; levels are counted over the conversation. */
  level: z.int(),
  iteration: z.int(),
  datasets: z.array(z.looseObject({ filename: z.string() })).default([]),
  reasoning: z.array(z.string()).default([]),
  status: z.enum(["pending", "running", "completed", "failed"]).default("pending"),
  output: z.string().optional(),
  /** Why it failed. */
  reason: z.string().optional(),
  references: z.array(referenceSchema).default([]),
  /** Virtual paths. */
  artifacts: z.array(z.string()).default([]),
});
export type Task = z.output<typeof taskSchema>;

export const datasetSchema = z.looseObject({
  filename: z.string(),
  id: z.string(),
  description: z.string(),
  /** Virtual path that commands can read; not there when the file could not be read. */
  path: z.string().optional(),
  /** Preview. */
  content: z.string().optional(),
  size: z.number().optional(),
  columns: z.array(z.object({ name: z.string(), type: z.string() })).optional(),
  /** Why it could not be read. */
  error: z.string().optional(),
});
export type Dataset = z.output<typeof datasetSchema>;

export const suggestionSchema = taskSchema.pick({ type: true, objective: true, level: true, datasets: true });
export type Suggestion = z.output<typeof suggestionSchema>;

const clarificationSchema = z.object({
  refinedObjective: z.string(),
  questions: z.array(z.string()),
  initialTasks: z.array(
    z.object({
      objective: z.string(),
      type: z.enum(["LITERATURE", "ANALYSIS"]),
      datasetFilenames: z.array(z.string()),
    }),
  ),
});
export type Clarification = z.output<typeof clarificationSchema>;

const removedSchema = z.object({ where: z.string(), citation: z.string(), reason: z.string() });

export const ResearchState = defineState({
  research_mode: { type: z.enum(["semi-autonomous", "fully-autonomous", "steering"]) },
  /** What the user has asked in this run. */
  question: { type: z.string() },
  clarification: { type: clarificationSchema },
  answers: { type: z.array(z.object({ question: z.string(), answer: z.string() })) },
  datasets: {
    type: z.array(datasetSchema),
    handler: (current, next) => mergeById("filename", current, next),
  },
  iteration: { type: z.int().default(0) },
  current_objective: { type: z.string() },
  /** Of this run. */
  tasks: {
    type: z.array(taskSchema).default([]),
    handler: (current, next) => mergeById("id", current, next),
  },
  hypothesis: { type: z.string() },
  reflection: {
    type: z.object({
      currentObjective: z.string(),
      keyInsights: z.array(z.string()),
      methodology: z.string(),
      conversationTitle: z.string(),
    }),
  },
  discoveries: {
    type: z.array(z.looseObject({ claim: z.string() })),
    handler: (_current, next) => next ?? null,
  },
  suggestions: { type: z.array(suggestionSchema), handler: (_current, next) => next ?? null },
  /** Citations that no task has returned, and where they stood. */
  removed_citations: {
    type: z.array(removedSchema).default([]),
    handler: (current, next) => (next === null ? [] : mergeLists(current, next)),
  },
  /** Virtual paths of the files that tasks have made. */
  artifacts: { type: z.array(z.string()).default([]), handler: mergeArtifacts },
});
export type ResearchState = StateOf<typeof ResearchState>;

/** Elements by their key, later ones in the place of earlier ones; null begins anew. */
function mergeById<Key extends string, Element extends Record<Key, string>>(
  key: Key,
  current: readonly Element[] | null | undefined,
  next: readonly Element[] | null | undefined,
): Element[] {
  if (next === null) return [];
  const elements = new Map((current ?? []).map((element) => [element[key], element]));
  for (const element of next ?? []) elements.set(element[key], element);
  return [...elements.values()];
}
