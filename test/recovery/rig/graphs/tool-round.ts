// A model call, a tool with an effect on the outside world, a second model call.
import { type AIMessage, ToolMessage } from "@langchain/core/messages";
import { END, type LangGraphRunnableConfig, MessagesAnnotation, StateGraph } from "@langchain/langgraph";
import { toEffect } from "../reply.ts";
import { misbehave, model } from "./rig-model.ts";

type State = typeof MessagesAnnotation.State;
const calling = model.bindTools([
  { type: "function", function: { name: "effect", parameters: { type: "object", properties: {} } } },
]);

async function callModel({ messages }: State, config: LangGraphRunnableConfig) {
  misbehave(messages);
  return { messages: [await calling.invoke(messages, config)] };
}

async function act({ messages }: State, { metadata, signal }: LangGraphRunnableConfig) {
  const text = toEffect(messages.findLast((message) => message.type === "human")?.text ?? "");
  const body = JSON.stringify({ run: metadata?.run_id, attempt: metadata?.run_attempt, text });
  await fetch(`${process.env.RIG_MODEL_URL}/effect`, { method: "POST", body, ...(signal ? { signal } : {}) });
  const [call] = (messages.at(-1) as AIMessage).tool_calls ?? [];
  return { messages: [new ToolMessage({ content: text, tool_call_id: call?.id ?? "" })] };
}

const next = ({ messages }: State) => ((messages.at(-1) as AIMessage).tool_calls?.length ? "act" : END);

export const graph = new StateGraph(MessagesAnnotation)
  .addNode("ask", callModel)
  .addNode("act", act)
  .addEdge("__start__", "ask")
  .addConditionalEdges("ask", next, ["act", END])
  .addEdge("act", "ask")
  .compile();
