// The state of the team: the conversation with the user, and of each executor what it would have to know again, under
// "<executor>_state" (docs/checkpoints.md). Plain JSON.
import { z } from "zod";
import { defineState } from "#kit";

const chatMessage = z.looseObject({
  role: z.enum(["user", "assistant", "tool"]),
  author_name: z.string(),
  text: z.string(),
  tool_calls: z
    .array(z.looseObject({ id: z.string(), name: z.string(), args: z.record(z.string(), z.unknown()) }))
    .optional(),
  /** Of a tool's result: the call that it answers. */
  tool_call_id: z.string().optional(),
});
export type ChatMessage = z.output<typeof chatMessage>;

const taskLedger = z.looseObject({
  /** What is known, to be looked up, to be worked out or guessed. */
  facts: z.array(z.string()),
  plan: z.array(z.string()),
});
export type TaskLedger = z.output<typeof taskLedger>;

const progressLedger = z.looseObject({
  is_request_satisfied: z.boolean(),
  is_in_loop: z.boolean(),
  is_progress_being_made: z.boolean(),
  next_speaker: z.string(),
  instruction_or_question: z.string(),
});
export type ProgressLedger = z.output<typeof progressLedger>;

const orchestratorState = z.looseObject({
  /** The user's message that the team works on. */
  task_id: z.string(),
  task: z.string(),
  /** What the orchestrator does when it is its turn. */
  phase: z.enum(["plan", "progress", "answer", "done"]),
  /** Why there is to be another plan, or an end. */
  reason: z.string().default(""),
  task_ledger: taskLedger.nullable(),
  progress_ledger: progressLedger.nullable(),
  roster: z.array(z.looseObject({ name: z.string(), description: z.string() })),
  round_count: z.int(),
  stall_count: z.int(),
  replan_count: z.int(),
  /** What a person has said of the plans. */
  plan_reviews: z.array(z.looseObject({ decision: z.string(), comments: z.string() })).default([]),
  /** What was asked and said in this task, in order. */
  chat_history: z.array(chatMessage),
});
export type OrchestratorState = z.output<typeof orchestratorState>;

const participantState = z.looseObject({
  /** All that he was told and has said, over all tasks of the thread. */
  chat_history: z.array(chatMessage),
  task_id: z.string().default(""),
  /** How much of the orchestrator's history he has been told in that task. */
  heard: z.int().default(0),
});
export type ParticipantState = z.output<typeof participantState>;

export const stateKeyOf = (executor: string) => `${executor}_state`;

export function defineTeamState(participants: readonly { readonly name: string }[]) {
  const own = participants.map(({ name }) => [stateKeyOf(name), { type: participantState }] as const);
  return defineState<Record<string, z.ZodType>>({
    orchestrator_state: { type: orchestratorState },
    ...Object.fromEntries(own),
  });
}

/** A state that an older version has stored, or a person has changed, with what is missing. */
export const toOrchestratorState = (value: unknown) => orchestratorState.safeParse(value).data;
export const toParticipantState = (value: unknown): ParticipantState =>
  participantState.safeParse(value).data ?? { chat_history: [], task_id: "", heard: 0 };
