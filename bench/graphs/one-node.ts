// The smallest graph with a model: what a run costs beside the model call.
import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";

const model = new ChatOpenAI({
  model: "bench",
  apiKey: "bench",
  configuration: { baseURL: process.env.BENCH_MODEL_URL },
});

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("answer", async ({ messages }, config) => ({ messages: [await model.invoke(messages, config)] }))
  .addEdge("__start__", "answer")
  .addEdge("answer", "__end__")
  .compile();
