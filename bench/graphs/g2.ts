// An agent as LangChain makes it, without middlewares: one tool round trip and an answer of 100 tokens, both scripted in
// bench/peer/model-process.ts.
import { ChatOpenAI } from "@langchain/openai";
import { createAgent, tool } from "langchain";
import { z } from "zod";

const model = new ChatOpenAI({
  model: "bench",
  apiKey: "bench",
  configuration: { baseURL: process.env.BENCH_MODEL_URL },
});

const weather = tool(({ city }) => `It is sunny in ${city}.`, {
  name: "weather",
  description: "The weather in a city.",
  schema: z.object({ city: z.string() }),
});

// The graph in the agent, so that both servers are given the same object.
export const graph = createAgent({ model, tools: [weather] }).graph;
