// What the subagents are shown of the conversation: enough to go on, and never more than fits into a prompt.
import type { ConversationStateValues } from "#kit";
import { type Dataset, datasetSchema, type Reference, type Task, taskSchema } from "./research-state.ts";

const MAX_OUTPUT_CHARS = 4_000;
const MAX_TASKS = 40;

/** All tasks of the conversation, those of earlier messages, too. What another writer has put there is left out. */
export function tasksOf({ plan = [] }: ConversationStateValues): Task[] {
  return plan.flatMap((task) => taskSchema.safeParse(task).data ?? []);
}

export function datasetsOf({ uploadedDatasets = [] }: ConversationStateValues): Dataset[] {
  return uploadedDatasets.flatMap((dataset) => datasetSchema.safeParse(dataset).data ?? []);
}

/** What claims may cite: the completed tasks, and the sources that they have returned. */
export function referencesOf(tasks: readonly Task[]): Reference[] {
  const references = tasks
    .filter(({ status }) => status === "completed")
    .flatMap(({ id, type, objective, references }) => [
      // A literature task is no source, its publications are.
      ...(type === "ANALYSIS" ? [{ id: `task:${id}`, title: objective, authors: [] }] : []),
      ...references,
    ]);
  return [...new Map(references.map((reference) => [reference.id, reference])).values()];
}

/** For a prompt. */
export function toMaterial(values: ConversationStateValues) {
  const tasks = tasksOf(values);
  return {
    objective: values.objective,
    evolvingObjective: values.evolvingObjective,
    clarification: values.clarificationContext,
    datasets: datasetsOf(values).map(({ filename, description, path, columns, error, content }) => ({
      filename,
      description,
      path,
      columns,
      error,
      preview: error === undefined ? content?.slice(0, 1_000).toWellFormed() : undefined,
    })),
    keyInsights: values.keyInsights ?? [],
    currentHypothesis: values.currentHypothesis,
    methodology: values.methodology,
    discoveries: (values.discoveries ?? []).map(({ claim }) => claim),
    tasks: tasks
      .slice(-MAX_TASKS)
      .map(({ id, type, level, objective, status, output, reason, references }) => ({
        id,
        type,
        level,
        objective,
        status,
        output: output?.slice(0, MAX_OUTPUT_CHARS).toWellFormed(),
        reason,
        sources: references.map((reference) => `${reference.id}: ${reference.title}`),
      })),
  };
}
export type Material = ReturnType<typeof toMaterial>;
