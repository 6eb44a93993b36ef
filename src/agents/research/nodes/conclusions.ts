// The nodes after the tasks: hypothesis, reflection, discovery, reply. Each pair is one that asks and one that writes.
import { AIMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Conversation } from "#kit";
import { toMessageId } from "../../message-id.ts";
import type { RemovedCitation } from "../citations.ts";
import type { createDiscovery, createHypothesis, createReflection } from "../conclusions.ts";
import { referencesOf, tasksOf, toMaterial } from "../knowledge.ts";
import type { createReply } from "../reply.ts";
import type { ResearchState } from "../research-state.ts";

interface ConclusionsDeps {
  readonly open: (config: LangGraphRunnableConfig) => Conversation;
  readonly hypothesis: ReturnType<typeof createHypothesis>;
  readonly reflection: ReturnType<typeof createReflection>;
  readonly discovery: ReturnType<typeof createDiscovery>;
  readonly reply: ReturnType<typeof createReply>;
}

export function createConclusions({ open, hypothesis, reflection, discovery, reply }: ConclusionsDeps) {
  async function inputOf(question: string | null, conversation: Conversation) {
    const { values } = await conversation.read();
    return {
      question: question ?? "",
      material: toMaterial(values),
      references: referencesOf(tasksOf(values)),
    };
  }

  return {
    async formHypothesis({ question }: ResearchState, config: LangGraphRunnableConfig) {
      const conversation = open(config);
      const input = await inputOf(question, conversation);
      const { removed, ...made } = await conversation.step("HYPOTHESIS", () => hypothesis.run(input, config));
      return { ...made, removed_citations: at("hypothesis", removed) };
    },

    async recordHypothesis(state: ResearchState, config: LangGraphRunnableConfig) {
      await open(config).patch({ currentHypothesis: state.hypothesis });
      return {};
    },

    async reflect({ question }: ResearchState, config: LangGraphRunnableConfig) {
      const conversation = open(config);
      const input = await inputOf(question, conversation);
      const { removed, ...made } = await conversation.step("REFLECTION", () => reflection.run(input, config));
      return { reflection: made, removed_citations: at("reflection", removed) };
    },

    async recordReflection(state: ResearchState, config: LangGraphRunnableConfig) {
      if (state.reflection) await open(config).patch(state.reflection);
      return {};
    },

    async discover({ question }: ResearchState, config: LangGraphRunnableConfig) {
      const conversation = open(config);
      const input = await inputOf(question, conversation);
      const { removed, discoveries } = await conversation.step("DISCOVERY", () =>
        discovery.run(input, config),
      );
      return { discoveries: [...discoveries], removed_citations: at("discovery", removed) };
    },

    async recordDiscoveries({ discoveries }: ResearchState, config: LangGraphRunnableConfig) {
      if (discoveries?.length) await open(config).patch({ discoveries });
      return {};
    },

    async writeReply(
      { messages, question, suggestions, removed_citations }: ResearchState,
      config: LangGraphRunnableConfig,
    ) {
      const conversation = open(config);
      const removed = (removed_citations ?? []).map(({ citation, reason }) => ({ citation, reason }));
      const more = { suggestedNextSteps: suggestions ?? [], removed };
      const input = { ...(await inputOf(question, conversation)), ...more };
      const { id, text, removed: last } = await conversation.step("REPLY", () => reply.run(input, config));
      const said = new AIMessage({ id: toMessageId(id, messages), content: text });
      return { messages: [said], removed_citations: at("reply", last) };
    },

    async recordReply({ messages }: ResearchState, config: LangGraphRunnableConfig) {
      await open(config).patchMessage({ finalResponse: messages.at(-1)?.text ?? "" });
      return {};
    },
  };
}

const at = (where: string, removed: readonly RemovedCitation[]) => removed.map((one) => ({ where, ...one }));
