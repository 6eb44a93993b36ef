// A ledger from a model that can only write text: the JSON in its answer, whatever stands around it, checked; asked for
// once more, with the reason, when it is not what was asked for.
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage, SystemMessage } from "@langchain/core/messages";
import type { z } from "zod";
import { readAnswer } from "../read-answer.ts";

/** LangGraph keeps the tokens of a call with this tag out of the messages stream. */
const TAGS = ["langsmith:nostream"];

interface Question<Schema extends z.ZodType> {
  readonly system: string;
  readonly question: string;
  readonly schema: Schema;
  readonly signal: AbortSignal | undefined;
}

/** Undefined when the second answer is no better. @throws what the model throws */
export async function askLedger<Schema extends z.ZodType>(
  model: BaseChatModel,
  { system, question, schema, signal }: Question<Schema>,
): Promise<z.output<Schema> | undefined> {
  const messages: BaseMessage[] = [new SystemMessage(system), new HumanMessage(question)];
  for (let attempt = 1; ; attempt++) {
    const { text } = await model.invoke(messages, { tags: TAGS, ...(signal ? { signal } : {}) });
    const read = readLedger(text, schema);
    if ("ledger" in read) return read.ledger;
    if (attempt === 2) return undefined;
    messages.push(
      new AIMessage(text),
      new HumanMessage(`That cannot be read: ${read.problem}. Answer with the JSON object alone.`),
    );
  }
}

/** The object in the text, or what is wrong with it. */
export function readLedger<Schema extends z.ZodType>(
  text: string,
  schema: Schema,
): { readonly ledger: z.output<Schema> } | { readonly problem: string } {
  let value: unknown;
  try {
    value = readAnswer(text);
  } catch {
    return { problem: "there is no JSON object in it" };
  }
  const { data, error } = schema.safeParse(value);
  if (error === undefined) return { ledger: data };
  const [issue] = error.issues;
  return { problem: `${issue?.path.join(".") || "the object"}: ${issue?.message}` };
}
