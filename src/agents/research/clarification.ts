// Clarification before the start: the subagent that finds out what is unclear, and the reading of what the user answers.
import { z } from "zod";
import type { Ask } from "./ask.ts";
import type { Material } from "./knowledge.ts";
import type { Clarification } from "./research-state.ts";
import { createSubagent } from "./subagent.ts";

const MAX_QUESTIONS = 5;

const schema = z.object({
  refinedObjective: z.string().min(1).describe("The research question, as precise as it can be said now."),
  questions: z
    .array(z.string().min(1))
    .describe(`At most ${MAX_QUESTIONS}; none when the question can be worked on as it is.`),
  initialTasks: z
    .array(
      z.object({
        objective: z.string().min(1),
        type: z.enum(["LITERATURE", "ANALYSIS"]),
        datasetFilenames: z.array(z.string()).default([]),
      }),
    )
    .default([])
    .describe("What you would begin with, for the user to see."),
});

interface ClarificationInput {
  readonly question: string;
  readonly material: Material;
}

export const createClarification = (ask: Ask) =>
  createSubagent(ask, {
    name: "clarification",
    instructions:
      "Before the research begins, find out whether its question is clear: subject, scope, time, data, what counts as an answer. Ask only what changes the work.",
    schema,
    toPrompt: (input: ClarificationInput) => input,
    check: ({ questions, ...more }): Clarification => ({
      ...more,
      questions: questions.slice(0, MAX_QUESTIONS),
    }),
  });

const answer = z.union([z.string(), z.object({ answer: z.string() }).transform((one) => one.answer)]);
const given = z.union([answer.transform((one) => [one]), z.array(answer), z.record(z.string(), z.string())]);
const resumeSchema = z.union([z.object({ answers: given }).transform(({ answers }) => answers), given]);

/**
 * What a client resumes with: one text for all questions, a list in their order, or a record by question; bare or as
 * `{ answers }`. A question without an answer gets an empty one, which says: as you think best. What does not go with the
 * questions is one text for all as it is, so that nothing of it is lost.
 */
export function readAnswers(questions: readonly string[], resumed: unknown) {
  const { data } = resumeSchema.safeParse(resumed);
  const toAll = (text: string) => questions.map((question) => ({ question, answer: text }));
  if (data === undefined || !goWith(questions, data)) return toAll(JSON.stringify(resumed) ?? "");
  if (!Array.isArray(data)) return questions.map((question) => ({ question, answer: data[question] ?? "" }));
  const [only = "", ...others] = data;
  if (others.length === 0) return toAll(only);
  return questions.map((question, index) => ({ question, answer: data[index] ?? "" }));
}

const goWith = (
  questions: readonly string[],
  answers: readonly string[] | Readonly<Record<string, string>>,
) =>
  Array.isArray(answers)
    ? answers.length <= questions.length
    : Object.keys(answers).every((key) => questions.includes(key));
