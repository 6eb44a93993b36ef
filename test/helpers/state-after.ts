// What a state holds after some writes, each in a step of its own: the shortest way through real channels.
import { END, START } from "@langchain/langgraph";

/** What is used of a StateGraph, whatever its state: steps are added in a loop, which its own type cannot follow. */
interface Builder {
  addNode(name: string, step: () => unknown): unknown;
  addEdge(from: string, to: string): unknown;
  compile(): { invoke(input: unknown): Promise<unknown> };
}

export async function stateAfter<State>(graph: unknown, updates: readonly unknown[]): Promise<State> {
  const builder = graph as Builder;
  for (const [index, update] of updates.entries()) {
    builder.addNode(`step${index}`, () => update);
    builder.addEdge(index === 0 ? START : `step${index - 1}`, `step${index}`);
  }
  builder.addEdge(`step${updates.length - 1}`, END);
  return (await builder.compile().invoke({})) as State;
}
