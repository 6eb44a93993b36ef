// One turn of a participant: he is told what the others have said meanwhile, does what he is asked, with his tools if he has
// any, and keeps all of it in a history of his own.

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { createAgent, modelCallLimitMiddleware } from "langchain";
import { createModelErrors } from "../../../middlewares/model-errors.ts";
import { createToolErrors } from "../../../middlewares/tool-errors.ts";
import { createTurnIntegrity } from "../../../middlewares/turn-integrity.ts";
import { toMessageId } from "../message-id.ts";
import type { Models } from "../models.ts";
import { NAME } from "./orchestrator.ts";
import { participantPrompt, turnText } from "./prompts.ts";
import type { Participant, TeamSettings } from "./settings.ts";
import { type ChatMessage, stateKeyOf, toOrchestratorState, toParticipantState } from "./team-state.ts";

type Values = Record<string, unknown>;

export interface TurnDeps {
  readonly models: Models;
  /** All there are; a participant gets those that his settings name. */
  readonly tools: readonly StructuredToolInterface[];
}

/** Calls of the model in one turn; then it ends as it is. */
const MAX_CALLS = 25;

export function createTurn(deps: TurnDeps, participant: Participant, settings: TeamSettings) {
  const { name } = participant;
  const agent = createParticipant(deps, participant, settings);
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
    const asked: ChatMessage = { role: "user", author_name: NAME, text: turnText(news, instruction) };
    const before = [...own.chat_history, asked];
    const { messages } = await agent.invoke(
      { messages: before.map((message, index) => toMessage(message, `${name}-${index}`)) },
      { ...config, recursionLimit: 10 * MAX_CALLS },
    );
    const done = messages.slice(before.length).map((message) => toChatMessage(message, name));
    const said: ChatMessage = { role: "assistant", author_name: name, text: done.at(-1)?.text ?? "" };
    const id = toMessageId(messages.at(-1)?.id, values.messages as BaseMessage[]);
    return {
      messages: [new AIMessage({ id, content: said.text, name })],
      orchestrator_state: { ...team, chat_history: [...team.chat_history, said] },
      [stateKeyOf(name)]: {
        ...own,
        chat_history: [...before, ...done],
        task_id: team.task_id,
        heard: team.chat_history.length + 1,
      },
    };
  };
}

/** His steps are checkpoints of a graph of his own: a turn that is broken off goes on where it was. */
function createParticipant({ models, tools }: TurnDeps, participant: Participant, settings: TeamSettings) {
  const model = models.get(participant.model_name ?? settings.model_name);
  const own: readonly string[] = participant.tools;
  return createAgent({
    name: participant.name,
    version: "v1",
    model: model.chat,
    tools: tools.filter((tool) => own.includes(tool.name)),
    systemPrompt: participantPrompt(participant),
    middleware: [
      modelCallLimitMiddleware({ runLimit: MAX_CALLS, exitBehavior: "end" }),
      createTurnIntegrity(),
      createModelErrors({ maxRetries: () => model.maxRetries }),
      createToolErrors(),
    ],
  });
}

function toMessage({ role, text, tool_calls = [], tool_call_id = "" }: ChatMessage, id: string): BaseMessage {
  if (role === "user") return new HumanMessage({ id, content: text });
  if (role === "tool") return new ToolMessage({ id, content: text, tool_call_id });
  return new AIMessage({
    id,
    content: text,
    tool_calls: tool_calls.map((call) => ({ ...call, type: "tool_call" })),
  });
}

function toChatMessage(message: BaseMessage, author: string): ChatMessage {
  const { text } = message;
  if (ToolMessage.isInstance(message)) {
    return { role: "tool", author_name: message.name ?? author, text, tool_call_id: message.tool_call_id };
  }
  const calls = AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [];
  const tool_calls = calls.map(({ id = "", name, args }) => ({ id, name, args }));
  return { role: "assistant", author_name: author, text, ...(calls.length > 0 ? { tool_calls } : {}) };
}
