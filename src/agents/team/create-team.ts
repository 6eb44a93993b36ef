// The team as a graph: an orchestrator, a person who reads its plans, and participants that it asks one after the other.
// Which participants there are is part of the graph, and so of its topology.
import { AIMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import { type LangGraphRunnableConfig, StateGraph } from "@langchain/langgraph";
import type { Models } from "../models.ts";
import { createOrchestrator, NAME } from "./orchestrator.ts";
import { participantPrompt, turnText } from "./prompts.ts";
import type { Participant, TeamSettings } from "./settings.ts";
import { defineTeamState, stateKeyOf, toOrchestratorState, toParticipantState } from "./team-state.ts";

type Values = Record<string, unknown>;

/** The compiled graph, without a checkpointer. */
export function createTeam(models: Models, settings: TeamSettings) {
  const { participants, max_rounds, max_replans } = settings;
  const orchestrator = createOrchestrator(models, settings);
  const names = participants.map(({ name }) => name);
  const graph = new StateGraph(defineTeamState(participants).graphSchema) as unknown as OpenGraph;
  graph.addNode(NAME, orchestrator.step, { ends: [NAME, "plan_review", ...names, "__end__"] });
  graph.addNode("plan_review", orchestrator.review, { ends: [NAME, "__end__"] });
  for (const participant of participants) {
    graph.addNode(participant.name, createTurn(models, participant, settings));
    graph.addEdge(participant.name, NAME);
  }
  graph.addEdge("__start__", NAME);
  // A round is two steps; a plan, its review and the answer are a few more.
  const recursionLimit = 2 * max_rounds + 8 * (max_replans + 1) + 50;
  return graph
    .compile({ name: "team", description: "A team of agents that an orchestrator leads." })
    .withConfig({
      recursionLimit,
    });
}

/** Nodes are made in a loop, and LangGraph's types want to know them all. */
interface OpenGraph {
  addNode(name: string, node: unknown, options?: { ends: string[] }): unknown;
  addEdge(from: string, to: string): unknown;
  compile(options: { name: string; description: string }): ReturnType<StateGraph<Values>["compile"]>;
}

/** One turn of a participant: he is told what the others have said meanwhile, does what he is asked, and keeps both. */
function createTurn(models: Models, participant: Participant, { model_name }: TeamSettings) {
  const { name } = participant;
  return async (values: Values, config: LangGraphRunnableConfig): Promise<Values> => {
    const team = toOrchestratorState(values.orchestrator_state);
    if (!team) throw new Error(`${name} was asked nothing.`);
    const own = toParticipantState(values[stateKeyOf(name)]);
    const heard = own.task_id === team.task_id ? own.heard : 0;
    // The last one is what he is asked now.
    const news = team.chat_history
      .slice(heard, -1)
      .filter(({ role, author_name }) => role === "assistant" && author_name !== name);
    const instruction = team.progress_ledger?.instruction_or_question ?? team.task;
    const asked = { role: "user" as const, author_name: NAME, text: turnText(news, instruction) };
    const { chat } = models.get(participant.model_name ?? model_name);
    const messages = [...own.chat_history, asked].map(({ role, text }, index) =>
      role === "user" ? new HumanMessage({ id: `${name}-${index}`, content: text }) : new AIMessage(text),
    );
    const { text } = await chat.invoke(
      [new SystemMessage(participantPrompt(participant)), ...messages],
      config,
    );
    const said = { role: "assistant" as const, author_name: name, text };
    return {
      messages: [new AIMessage({ content: text, name })],
      orchestrator_state: { ...team, chat_history: [...team.chat_history, said] },
      [stateKeyOf(name)]: {
        ...own,
        chat_history: [...own.chat_history, asked, said],
        task_id: team.task_id,
        heard: team.chat_history.length + 1,
      },
    };
  };
}
