// Names a thread after its first complete exchange (document 000, "title"), once, and never again: a title that
// is there, from us or from the user, stays. It comes after the answer's last token and cannot fail a run.
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { createMiddleware, type Runtime } from "langchain";
import { z } from "zod";
import { askModel, ThreadState, userText, withDeadline } from "#kit";

export interface TitleOptions {
  readonly enabled?: boolean;
  readonly max_words?: number;
  readonly max_chars?: number;
  /** With the places `{max_words}`, `{user_msg}` and `{assistant_msg}`. */
  readonly prompt_template?: string;
  /** The model that writes titles in this run; without one the fallback is taken. */
  readonly model?: (runtime: Runtime<unknown>) => BaseChatModel | undefined;
  /** Ends the model's call, so that a slow title does not hold up the run. 10 seconds by default. */
  readonly deadline?: () => AbortSignal;
}

const PROMPT =
  "Write a title of at most {max_words} words for this conversation. Answer with the title alone.\n\n" +
  "User: {user_msg}\n\nAssistant: {assistant_msg}";
const MESSAGE_CHARS = 500;
const FALLBACK_CHARS = 50;

export function createTitle({
  enabled = true,
  max_words = 8,
  max_chars = 80,
  prompt_template = PROMPT,
  model,
  deadline = () => AbortSignal.timeout(10_000),
}: TitleOptions = {}) {
  return createMiddleware({
    name: "title",
    stateSchema: ThreadState.pick("title").schema,
    // A hook sees only what it declares, and the choice of the model may depend on the run's.
    contextSchema: z.object({ model_name: z.string().optional() }),
    afterAgent: async (state, runtime) => {
      const exchange = enabled && !state.title ? firstExchange(state.messages) : undefined;
      if (!exchange) return undefined;
      const writer = model?.(runtime);
      const prompt = fill(prompt_template, {
        max_words: String(max_words),
        user_msg: head(exchange.user, MESSAGE_CHARS),
        assistant_msg: head(exchange.assistant, MESSAGE_CHARS),
      });
      const written =
        writer && tidy(await askModel(writer, prompt, withDeadline(deadline(), runtime.signal)));
      return { title: written ? head(written, max_chars) : fallback(exchange.user) };
    },
  });
}

/** What the user said first, and the first answer in words that followed; undefined while there is none. */
function firstExchange(
  messages: readonly BaseMessage[],
): { readonly user: string; readonly assistant: string } | undefined {
  const start = messages.findIndex((message) => HumanMessage.isInstance(message));
  const question = messages[start];
  const answer = messages.slice(start).find((message) => {
    return AIMessage.isInstance(message) && !message.tool_calls?.length && message.text.trim() !== "";
  });
  return question && answer && { user: userText(question).trim(), assistant: answer.text.trim() };
}

/** One pass over the template, so that braces in a message are text. */
function fill(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (place, name: string) => values[name] ?? place);
}

/** One line, without a model's thoughts, quotes or final stop around it. */
function tidy(title: string): string {
  return title
    .replace(/<think>[\s\S]*?(?:<\/think>|$)/g, "")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^(["'“«`*]+)(.*?)["'”»`*]+$/, "$2")
    .replace(/\.$/, "")
    .trim();
}

function fallback(user: string): string {
  return user === "" ? "New conversation" : `${head(user.replace(/\s+/g, " "), FALLBACK_CHARS).trimEnd()}...`;
}

/** The first `count` characters, never half of one. */
function head(text: string, count: number): string {
  return text.length <= count ? text : [...text.slice(0, count * 2)].slice(0, count).join("");
}
