// The smallest graph there is, without a model: what a run costs beside everything.
import { AIMessage } from "@langchain/core/messages";
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", () => ({ messages: [new AIMessage("t98 t99")] }))
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile();
