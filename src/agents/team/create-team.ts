// The team as a graph: an orchestrator, a person who reads its plans, and participants that it asks one after the other.
// Which participants there are is part of the graph, and so of its topology.
import { StateGraph } from "@langchain/langgraph";
import { createOrchestrator, NAME } from "./orchestrator.ts";
import { createTurn, type TurnDeps } from "./participant.ts";
import type { TeamSettings } from "./settings.ts";
import { defineTeamState } from "./team-state.ts";

type Values = Record<string, unknown>;

/** The compiled graph, without a checkpointer. */
export function createTeam(deps: TurnDeps, settings: TeamSettings) {
  const { participants, max_rounds, max_replans } = settings;
  const orchestrator = createOrchestrator(deps.models, settings);
  const names = participants.map(({ name }) => name);
  const graph = new StateGraph(defineTeamState(participants).graphSchema) as unknown as OpenGraph;
  graph.addNode(NAME, orchestrator.step, { ends: [NAME, "plan_review", ...names, "__end__"] });
  graph.addNode("plan_review", orchestrator.review, { ends: [NAME, "__end__"] });
  for (const participant of participants) {
    graph.addNode(participant.name, createTurn(deps, participant, settings));
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
