// The orchestrator: plans the task, sees after each turn how it goes, says who speaks next, plans again when it does not go
// on, and answers the user. One step of it is one superstep and one call of a model, so that a restore loses no more.
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Command, END, interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod";
import { toMessageId } from "../message-id.ts";
import type { Models } from "../models.ts";
import { askLedger } from "./ask-ledger.ts";
import { demoAnswer, demoPlan, demoProgress } from "./demo-team.ts";
import { progressLedgerAnswer, taskLedgerAnswer } from "./ledgers.ts";
import { answerQuestion, ORCHESTRATOR_PROMPT, planQuestion, progressQuestion } from "./prompts.ts";
import type { TeamSettings } from "./settings.ts";
import {
  type OrchestratorState,
  type ProgressLedger,
  type TaskLedger,
  toOrchestratorState,
} from "./team-state.ts";

interface Values {
  readonly messages: readonly BaseMessage[];
  readonly orchestrator_state?: unknown;
}

export const NAME = "orchestrator";

export function createOrchestrator(models: Models, settings: TeamSettings) {
  const { participants, max_rounds, max_stalls, max_replans } = settings;
  const chat = () => models.get(settings.model_name).chat;
  const go = (goto: string, orchestrator_state: OrchestratorState, messages: BaseMessage[] = []) =>
    new Command({ goto, update: { orchestrator_state, ...(messages.length > 0 ? { messages } : {}) } });

  const plan = async (state: OrchestratorState, signal: AbortSignal | undefined) => {
    const asked = models.isDemo
      ? demoPlan(state, participants)
      : await askLedger(chat(), {
          system: ORCHESTRATOR_PROMPT,
          question: planQuestion(state, participants),
          schema: taskLedgerAnswer,
          signal,
        });
    // A model that cannot write a ledger can still lead: everybody in turn.
    const task_ledger: TaskLedger = asked ?? {
      facts: [],
      plan: participants.map(({ name }) => `Ask ${name}.`),
    };
    const planned = { ...state, task_ledger, stall_count: 0, phase: "progress" as const, reason: "" };
    return go(settings.plan_review ? "plan_review" : NAME, planned);
  };

  const progress = async (state: OrchestratorState, signal: AbortSignal | undefined) => {
    if (state.round_count >= max_rounds) return stop(state, `it has had its ${max_rounds} rounds`);
    const asked: ProgressLedger | undefined = models.isDemo
      ? demoProgress(state, participants)
      : await askLedger(chat(), {
          system: ORCHESTRATOR_PROMPT,
          question: progressQuestion(state, participants),
          schema: progressLedgerAnswer(participants),
          signal,
        });
    const ledger = asked ?? inTurn(state);
    const seen = { ...state, progress_ledger: ledger };
    if (ledger.is_request_satisfied) return go(NAME, { ...seen, phase: "answer" });
    const isStalled = !ledger.is_progress_being_made || ledger.is_in_loop;
    const stall_count = isStalled ? state.stall_count + 1 : Math.max(0, state.stall_count - 1);
    if (stall_count > max_stalls) {
      if (state.replan_count >= max_replans) return stop(seen, "it did not get on, with any of its plans");
      return go(NAME, {
        ...seen,
        phase: "plan",
        reason: ledger.is_in_loop ? "the team went round in circles" : "there was no progress",
        replan_count: state.replan_count + 1,
        stall_count: 0,
      });
    }
    const { next_speaker, instruction_or_question: text } = ledger;
    return go(next_speaker, {
      ...seen,
      stall_count,
      round_count: state.round_count + 1,
      chat_history: [
        ...state.chat_history,
        { role: "user", author_name: NAME, text: `${next_speaker}: ${text}` },
      ],
    });
  };

  const stop = (state: OrchestratorState, reason: string) => go(NAME, { ...state, phase: "answer", reason });

  /** Counts as a round without progress. */
  const inTurn = ({ round_count, task }: OrchestratorState): ProgressLedger => ({
    is_request_satisfied: false,
    is_in_loop: false,
    is_progress_being_made: false,
    next_speaker: participants[round_count % participants.length]?.name ?? "",
    instruction_or_question: `Do your part of this: ${task}`,
  });

  const answer = async (state: OrchestratorState, { messages }: Values, config: LangGraphRunnableConfig) => {
    const { id, text } = models.isDemo
      ? { id: undefined, text: demoAnswer(state) }
      : await chat().invoke([new HumanMessage(answerQuestion(state))], config);
    const said = new AIMessage({ id: toMessageId(id, messages), content: text, name: NAME });
    return go(END, { ...state, phase: "done" }, [said]);
  };

  return {
    step: (values: Values, config: LangGraphRunnableConfig): Promise<Command> | Command => {
      const state = toCurrent(values, settings);
      if (!state) return new Command({ goto: END });
      if (state.phase === "plan") return plan(state, config.signal);
      if (state.phase === "progress") return progress(state, config.signal);
      return answer(state, values, config);
    },

    /** A person reads the plan; nothing is done before he has said yes. */
    review: ({ orchestrator_state }: Values): Command => {
      const state = toOrchestratorState(orchestrator_state);
      if (!state) return new Command({ goto: END });
      const { task, task_ledger, replan_count } = state;
      const question = { type: "plan_review", task, ...task_ledger, replan_count };
      let read = readReview(interrupt(question));
      while ("problem" in read) read = readReview(interrupt({ ...question, problem: read.problem }));
      const { decision, comments, plan: edited } = read;
      const reviewed = { ...state, plan_reviews: [...state.plan_reviews, { decision, comments }] };
      if (decision === "revise") {
        return go(NAME, { ...reviewed, phase: "plan", reason: comments || "the user wants another plan" });
      }
      const ledger = edited && task_ledger ? { ...task_ledger, plan: edited } : task_ledger;
      return go(NAME, { ...reviewed, task_ledger: ledger });
    },
  };
}

/** The state of the task that is worked on; a message of the user begins a new one. Undefined without any. */
function toCurrent({ messages, orchestrator_state }: Values, { participants }: TeamSettings) {
  const known = toOrchestratorState(orchestrator_state);
  const asked = messages.findLast((message) => HumanMessage.isInstance(message));
  const roster = participants.map(({ name, description }) => ({ name, description }));
  if (known && (!asked || known.task_id === asked.id)) {
    return known.phase === "done" ? undefined : { ...known, roster };
  }
  if (!asked) return undefined;
  const fresh: OrchestratorState = {
    task_id: asked.id ?? "",
    task: asked.text,
    phase: "plan",
    reason: "",
    task_ledger: null,
    progress_ledger: null,
    roster,
    round_count: 0,
    stall_count: 0,
    replan_count: 0,
    plan_reviews: [],
    chat_history: [],
  };
  return fresh;
}

const review = z
  .looseObject({
    decision: z.enum(["approve", "revise"]).nullish(),
    comments: z.string().nullish(),
    plan: z.array(z.string()).min(1).nullish(),
  })
  .refine(({ decision, plan }) => decision || plan, "it needs a decision or plan");

type Review =
  | { decision: "approve" | "revise"; comments: string; plan?: string[] | null | undefined }
  | { problem: string };

/** Yes in any of its forms, a plan of his own, or what is to be otherwise. */
function readReview(answered: unknown): Review {
  const isYes = (text: string) => /^(?:y|yes|ok|okay|approved?|true)[.!]?$/i.test(text.trim());
  if (answered === true || (typeof answered === "string" && isYes(answered))) {
    return { decision: "approve", comments: "" };
  }
  if (typeof answered === "string") return { decision: "revise", comments: answered };
  const { data, error } = review.safeParse(answered);
  if (data) return { ...data, decision: data.decision ?? "approve", comments: data.comments ?? "" };
  const [issue] = error.issues;
  return { problem: `${issue?.path.join(".") || "the answer"}: ${issue?.message}` };
}
