// The two ledgers of the orchestrator as a model may write them: the forms that models have been seen to use are all taken.
import { z } from "zod";
import type { Participant } from "./settings.ts";

/** A list, or lines of text with or without bullets. */
const lines = z.preprocess(
  (value) =>
    typeof value === "string"
      ? value
          .split("\n")
          .map((line) => line.replace(/^\s*(?:[-*•]|\d+[.)])\s*/, "").trim())
          .filter(Boolean)
      : value,
  z.array(z.union([z.string(), z.unknown().transform((item) => JSON.stringify(item))])),
);

export const taskLedgerAnswer = z.object({
  facts: lines.default([]),
  plan: lines.refine((plan) => plan.length > 0, "has no step"),
});

/** { "answer": …, "reason": … }, as the paper on Magentic-One has it, or the answer alone. */
const answered = <Schema extends z.ZodType>(schema: Schema) =>
  z.preprocess(
    (value) => (typeof value === "object" && value !== null && "answer" in value ? value.answer : value),
    schema,
  );

const yesOrNo = answered(
  z.preprocess(
    (value) => (typeof value === "string" ? /^(?:yes|true)$/i.test(value.trim()) : value),
    z.boolean(),
  ),
);

/** A speaker must be one of the team; however the name is written. */
export const progressLedgerAnswer = (participants: readonly Participant[]) =>
  z.object({
    is_request_satisfied: yesOrNo,
    is_in_loop: yesOrNo.default(false),
    is_progress_being_made: yesOrNo.default(true),
    next_speaker: answered(
      z.string().transform((text, context) => {
        const found = participants.find(({ name }) => name === text.trim().toLowerCase());
        if (found) return found.name;
        context.addIssue({
          code: "custom",
          message: `is not one of ${participants.map(({ name }) => name).join(", ")}`,
        });
        return z.NEVER;
      }),
    ),
    instruction_or_question: answered(z.string().min(1)),
  });
