// One node that calls the model.
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { misbehave, model } from "./rig-model.ts";

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", async ({ messages }, config) => {
    misbehave(messages);
    return { messages: [await model.invoke(messages, config)] };
  })
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile();
