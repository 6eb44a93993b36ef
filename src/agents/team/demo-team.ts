// The orchestrator's part when no model is configured: everybody speaks once, in turn, then the task is done. Pure.
import type { Participant } from "./settings.ts";
import type { OrchestratorState, ProgressLedger, TaskLedger } from "./team-state.ts";

export const demoPlan = (
  { task, reason }: OrchestratorState,
  participants: readonly Participant[],
): TaskLedger => ({
  facts: [`The user wrote: ${task}`, ...(reason ? [`The plan before was not taken: ${reason}`] : [])],
  plan: participants.map(({ name, description }) => `${name}: ${description}`),
});

export function demoProgress(
  { task, chat_history }: OrchestratorState,
  participants: readonly Participant[],
): ProgressLedger {
  const spoken = new Set(chat_history.map(({ author_name }) => author_name));
  const next = participants.find(({ name }) => !spoken.has(name));
  return {
    is_request_satisfied: next === undefined,
    is_in_loop: false,
    is_progress_being_made: true,
    next_speaker: next?.name ?? participants[0]?.name ?? "",
    instruction_or_question: `Do your part of this: ${task}`,
  };
}

export const demoAnswer = ({ task, chat_history, reason }: OrchestratorState): string => {
  const said = chat_history.filter(({ role }) => role === "assistant");
  const names = [...new Set(said.map(({ author_name }) => author_name))].join(", ");
  return `The team's demo is through: “${task}”. ${said.length} turns, by ${names || "nobody"}.${reason ? ` It stopped: ${reason}.` : ""}`;
};
