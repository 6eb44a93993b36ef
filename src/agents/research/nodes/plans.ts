// The nodes that decide what is done: the plan, its levels one after the other, and whether there is another iteration.
import { type LangGraphRunnableConfig, Send } from "@langchain/langgraph";
import type { Conversation } from "#kit";
import { tasksOf, toMaterial } from "../knowledge.ts";
import { type createPlanning, toTasks } from "../planning.ts";
import { type ResearchState, suggestionSchema } from "../research-state.ts";
import { type IterationSettings, readMaxIterations } from "../run-mode.ts";
import { withTask } from "../run-task.ts";

interface PlansDeps {
  readonly open: (config: LangGraphRunnableConfig) => Conversation;
  readonly planning: ReturnType<typeof createPlanning>;
  readonly settings: { readonly iterations: IterationSettings };
}

export function createPlans({ open, planning, settings }: PlansDeps) {
  async function plan(mode: "initial" | "next", question: string | null, config: LangGraphRunnableConfig) {
    const conversation = open(config);
    const { values } = await conversation.read();
    const suggested = mode === "initial" ? (values.suggestedNextSteps ?? []) : [];
    const suggestedNextSteps = suggested.flatMap((step) => suggestionSchema.safeParse(step).data ?? []);
    const input = { mode, question: question ?? "", material: toMaterial(values), suggestedNextSteps };
    const made = await conversation.step("PLANNING", () => planning.run(input, config));
    return { ...made, before: tasksOf(values) };
  }

  return {
    async makePlan({ question }: ResearchState, config: LangGraphRunnableConfig) {
      const { currentObjective, tasks, before } = await plan("initial", question, config);
      return { current_objective: currentObjective, tasks: toTasks(tasks, before, 1), iteration: 1 };
    },

    async recordPlan({ current_objective, tasks }: ResearchState, config: LangGraphRunnableConfig) {
      const conversation = open(config);
      const added = pendingOf(tasks);
      await conversation.change(({ plan: held = [] }) => ({ plan: added.reduce(withTask, held) }));
      await conversation.patch({
        currentObjective: current_objective ?? "",
        suggestedNextSteps: null,
        ...(added.length > 0 && { currentLevel: lowestLevel(added) }),
      });
      return {};
    },

    /** All tasks of the lowest level that is not done, each as a branch of its own. */
    nextLevel({ tasks, question }: ResearchState) {
      const pending = pendingOf(tasks);
      if (pending.length === 0) return tasks?.length ? "form_hypothesis" : "write_reply";
      const level = lowestLevel(pending);
      return pending
        .filter((task) => task.level === level)
        .map((task) => new Send(task.type === "LITERATURE" ? "literature" : "analysis", { task, question }));
    },

    async finishLevel({ tasks }: ResearchState, config: LangGraphRunnableConfig) {
      const pending = pendingOf(tasks);
      if (pending.length > 0) await open(config).patch({ currentLevel: lowestLevel(pending) });
      return {};
    },

    async suggestNext({ question }: ResearchState, config: LangGraphRunnableConfig) {
      const { currentObjective, tasks } = await plan("next", question, config);
      return { suggestions: [...tasks], current_objective: currentObjective };
    },

    async recordSuggestions({ suggestions }: ResearchState, config: LangGraphRunnableConfig) {
      await open(config).patch({ suggestedNextSteps: suggestions ?? [] });
      return {};
    },

    goesOn({ suggestions, iteration, research_mode }: ResearchState, config: LangGraphRunnableConfig) {
      const max = readMaxIterations(config, research_mode ?? "steering", settings.iterations);
      return suggestions?.length && (iteration ?? 0) < max ? "take_suggestions" : "write_reply";
    },

    async takeSuggestions({ suggestions, iteration }: ResearchState, config: LangGraphRunnableConfig) {
      const before = tasksOf((await open(config).read()).values);
      const next = (iteration ?? 0) + 1;
      return { tasks: toTasks(suggestions ?? [], before, next), iteration: next, suggestions: null };
    },
  };
}

type Tasks = ResearchState["tasks"];

const pendingOf = (tasks: Tasks) => (tasks ?? []).filter(({ status }) => status === "pending");
const lowestLevel = (tasks: NonNullable<Tasks>) => Math.min(...tasks.map(({ level }) => level));
