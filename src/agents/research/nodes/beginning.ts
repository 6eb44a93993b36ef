// The nodes before the plan: what the user asks, the files that came with it, and what is unclear.
import { HumanMessage } from "@langchain/core/messages";
import { interrupt, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type Conversation, userText } from "#kit";
import type { createClarification } from "../clarification.ts";
import { readAnswers } from "../clarification.ts";
import type { createFileUpload } from "../files/upload-graph.ts";
import { datasetsOf, toMaterial } from "../knowledge.ts";
import type { ResearchState } from "../research-state.ts";
import { type Mode, readMode } from "../run-mode.ts";

interface BeginningDeps {
  readonly open: (config: LangGraphRunnableConfig) => Conversation;
  /** Throws for a model that there is none of. */
  readonly modelOf: (config: LangGraphRunnableConfig) => unknown;
  readonly upload: ReturnType<typeof createFileUpload>;
  readonly clarification: ReturnType<typeof createClarification>;
  readonly settings: { readonly mode: Mode };
}

export function createBeginning({ open, modelOf, upload, clarification, settings }: BeginningDeps) {
  return {
    /** Reads what is asked, and forgets what the message before has left in the graph's state. */
    async begin({ messages }: ResearchState, config: LangGraphRunnableConfig) {
      modelOf(config);
      const asked = messages.findLast((message) => HumanMessage.isInstance(message));
      const question = asked ? userText(asked).trim() : "";
      if (question === "")
        throw new Error("The research has no question: the last message of the user is empty.");
      const conversation = open(config);
      const { values } = await conversation.read();
      const mode = readMode(config, values.researchMode, settings.mode);
      await conversation.patch({
        researchMode: mode,
        ...(values.objective === "" && { objective: question }),
      });
      await conversation.patchMessage({ isDeepResearch: true });
      return {
        question,
        research_mode: mode,
        iteration: 0,
        ...{ clarification: null, answers: null, datasets: null, tasks: null, current_objective: null },
        ...{
          hypothesis: null,
          reflection: null,
          discoveries: null,
          suggestions: null,
          removed_citations: null,
        },
      };
    },

    async uploadFiles(_state: ResearchState, config: LangGraphRunnableConfig) {
      const conversation = open(config);
      const known = datasetsOf((await conversation.read()).values).map(({ id }) => id);
      return { datasets: await conversation.step("FILE_UPLOAD", () => upload.run(known, config)) };
    },

    async recordFiles({ datasets }: ResearchState, config: LangGraphRunnableConfig) {
      if (!datasets?.length) return {};
      const conversation = open(config);
      const names = new Set(datasets.map(({ filename }) => filename));
      await conversation.change(({ uploadedDatasets = [] }) => ({
        // A file that has been uploaded again takes the place of the former one.
        uploadedDatasets: [...uploadedDatasets.filter(({ filename }) => !names.has(filename)), ...datasets],
      }));
      for (const { id, error } of datasets) {
        await (error === undefined ? conversation.fileReady(id) : conversation.fileFailed(id));
      }
      return {};
    },

    /** Once a conversation, and never when the research is to go by itself. */
    async needsClarification({ research_mode }: ResearchState, config: LangGraphRunnableConfig) {
      if (research_mode === "fully-autonomous") return "make_plan";
      const { values } = await open(config).read();
      return values.clarificationContext || values.plan?.length ? "make_plan" : "clarify";
    },

    async clarify({ question }: ResearchState, config: LangGraphRunnableConfig) {
      const conversation = open(config);
      const material = toMaterial((await conversation.read()).values);
      const input = { question: question ?? "", material };
      return {
        clarification: await conversation.step("CLARIFICATION", () => clarification.run(input, config)),
      };
    },

    hasQuestions: ({ clarification: asked }: ResearchState) =>
      asked?.questions.length ? "await_answers" : "record_clarification",

    /** Waits for the user. What he is shown is the interrupt's value. */
    awaitAnswers({ clarification: asked }: ResearchState) {
      const { refinedObjective = "", questions = [], initialTasks = [] } = asked ?? {};
      const value = {
        type: "clarification",
        objective: refinedObjective,
        questions,
        initial_tasks: initialTasks,
      };
      return { answers: readAnswers(questions, interrupt(value)) };
    },

    async recordClarification(
      { clarification: asked, answers, messages }: ResearchState,
      config: LangGraphRunnableConfig,
    ) {
      // The run that answers is another one, and has not passed through `begin`.
      await open(config).patchMessage({ isDeepResearch: true });
      if (!asked) return {};
      const { refinedObjective, initialTasks } = asked;
      const sessionId =
        messages.findLast((message) => HumanMessage.isInstance(message))?.id ?? open(config).id;
      await open(config).patch({
        evolvingObjective: refinedObjective,
        clarificationContext: {
          sessionId,
          refinedObjective,
          questionsAndAnswers: answers ?? [],
          initialTasks,
        },
      });
      return {};
    },
  };
}
