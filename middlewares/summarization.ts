// Shortens what the model reads of a long thread, and nothing else: the messages of the state stay whole. Where to
// cut and what to ask is LangChain's own summarizationMiddleware, run on a copy inside the model call. Around it
// are the rules it lacks (docs/decisions/0002-summarization.md): the user's current message and the open todos stay
// word by word, the summary is kept in the state, and without a summary the model reads everything.
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { Command } from "@langchain/langgraph";
import {
  countTokensApproximately,
  createMiddleware,
  type ModelRequest,
  summarizationMiddleware,
} from "langchain";
import { z } from "zod";
import { askModel, ThreadState, type Todo, withDeadline } from "#kit";

type Model = ModelRequest["model"];

interface SummarizationOptions {
  readonly enabled?: boolean;
  /** Tokens of a request, estimated, above which its older messages are summarized. */
  readonly triggerTokens: (model: Model) => number;
  /** Newest messages that stay, as long as they fit into half of that. */
  readonly keepMessages?: number;
  /** The model that summarizes; by default the one of the run. */
  readonly model?: (model: Model) => Model;
  /** Ends the summarizing call. 60 seconds by default. */
  readonly deadline?: () => AbortSignal;
}

const summarySchema = z.object({
  text: z.string(),
  /** Id of the last message that the text stands for. */
  through: z.string(),
  /** Id of the user's message that was current then: it stays in the request, so that the prefix stays too. */
  pinned: z.string().nullish(),
});
type Summary = z.output<typeof summarySchema>;

const summarizedState = ThreadState.pick("todos").extend({
  _summary: { type: summarySchema },
  /** Number of messages from which on summarizing is tried again after it has failed. */
  _summary_retry_at: { type: z.number() },
});

const RETRY_AFTER_MESSAGES = 10;

export function createSummarization({
  enabled = true,
  triggerTokens,
  keepMessages = 20,
  model = (own) => own,
  deadline = () => AbortSignal.timeout(60_000),
}: SummarizationOptions) {
  return createMiddleware({
    name: "summarization",
    stateSchema: summarizedState.schema,
    wrapModelCall: async (request, handler) => {
      if (!enabled) return handler(request);
      const { messages, state } = request;
      const limit = triggerTokens(request.model);
      const former = toView(messages, state._summary ?? undefined);
      const isDue = isLarger(request, former, limit) && messages.length >= (state._summary_retry_at ?? 0);
      const plan = isDue ? await planCut(former, limit, keepMessages) : undefined;
      if (!plan) return handler({ ...request, messages: withTodos(former, state.todos) });

      const signal = withDeadline(deadline(), request.runtime.signal);
      const text = await askModel(model(request.model) as BaseChatModel, plan.prompt, signal);
      const _summary =
        text === "" ? undefined : { text, through: plan.through, pinned: currentMessage(messages)?.id };
      const view = _summary ? toView(messages, _summary) : former;
      const reply = await handler({ ...request, messages: withTodos(view, state.todos) });
      if (!AIMessage.isInstance(reply)) return reply;
      const update = _summary ? { _summary } : { _summary_retry_at: messages.length + RETRY_AFTER_MESSAGES };
      return new Command({ update });
    },
  });
}

/** What the model reads: the summary, the user's messages that must not be lost, and what came since. */
interface View {
  readonly summary: Summary | undefined;
  readonly pinned: readonly BaseMessage[];
  readonly rest: readonly BaseMessage[];
}

function toView(messages: readonly BaseMessage[], summary: Summary | undefined): View {
  const last = summary ? messages.findIndex(({ id }) => id === summary.through) : -1;
  // A fork to before the summary has nothing to do with it.
  if (!summary || last === -1) return { summary: undefined, pinned: [], rest: messages };
  const kept = new Set([summary.pinned, currentMessage(messages)?.id]);
  const pinned = messages
    .slice(0, last + 1)
    .filter((message) => HumanMessage.isInstance(message) && kept.has(message.id));
  return { summary, pinned, rest: messages.slice(last + 1) };
}

function toMessages({ summary, pinned, rest }: View): BaseMessage[] {
  if (!summary) return [...rest];
  const text = `<summary>\nThe conversation so far, summarized:\n${summary.text}\n</summary>`;
  return [new HumanMessage(text), ...pinned, ...rest];
}

function currentMessage(messages: readonly BaseMessage[]): BaseMessage | undefined {
  return messages.findLast((message) => HumanMessage.isInstance(message));
}

function isLarger({ systemMessage, tools }: ModelRequest, view: View, limit: number): boolean {
  return countTokensApproximately([systemMessage, ...toMessages(view)], tools as never) > limit;
}

/** Open todos whose last writing the model cannot read any more, at the end, where they break no prefix. */
function withTodos(view: View, todos: readonly Todo[] | null): BaseMessage[] {
  const messages = toMessages(view);
  const open = todos?.filter(({ status }) => status !== "completed") ?? [];
  const isInSight = view.rest.some(
    (message) =>
      AIMessage.isInstance(message) && message.tool_calls?.some(({ name }) => name === "write_todos"),
  );
  if (!view.summary || open.length === 0 || isInSight) return messages;
  const lines = open.map(({ id, title, status }) => `- [${status}] ${title} (${id})`);
  return [...messages, new HumanMessage(`<open_todos>\n${lines.join("\n")}\n</open_todos>`)];
}

interface Cut {
  readonly prompt: string;
  readonly through: string;
}

/** Lets LangChain's middleware choose the cut and write the prompt; a model that only listens stands in for ours. */
async function planCut(
  { summary, rest }: View,
  limit: number,
  keepMessages: number,
): Promise<Cut | undefined> {
  const half = Math.floor(limit / 2);
  const fits = countTokensApproximately(rest.slice(-keepMessages)) <= half;
  let prompt = "";
  const listener = {
    invoke: async (text: string) => {
      prompt = text;
      return new AIMessage("");
    },
  };
  const { beforeModel } = summarizationMiddleware({
    model: listener as unknown as BaseChatModel,
    trigger: { messages: 1 },
    keep: fits ? { messages: keepMessages } : { tokens: half },
    // Its default of 4,000 tokens would drop most of what is to be summarized. The limit is below what the model can
    // read, so a little over it still fits.
    trimTokensToSummarize: Math.ceil(limit * 1.25),
  });
  const hook = beforeModel as (
    state: object,
    runtime: object,
  ) => Promise<{ messages: BaseMessage[] } | undefined>;
  const result = await hook({ messages: [...rest] }, { context: {} });
  if (!result || prompt === "") return undefined;
  // A removal of all and the summary come first in its update, then what it keeps.
  const kept = result.messages.length - 2;
  const through = rest.at(rest.length - kept - 1)?.id;
  if (!through || kept >= rest.length) return undefined;
  const before =
    summary && `What came before was summarized as:\n${summary.text}\n\nKeep of that what still matters.\n\n`;
  return { prompt: (before ?? "") + prompt, through };
}
