// The reply: the one text that is for the user and streams to him. Citations that no task has returned are taken out
// of it afterwards; the sources that are left are listed by us and not by the model.
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { END, type LangGraphRunnableConfig, START, StateGraph } from "@langchain/langgraph";
import { z } from "zod";
import { defineState } from "#kit";
import { AnswerError, toMessages } from "./ask.ts";
import { checkCitations, type RemovedCitation } from "./citations.ts";
import type { Material } from "./knowledge.ts";
import type { Reference, Suggestion } from "./research-state.ts";

export interface ReplyInput {
  readonly question: string;
  readonly material: Material;
  readonly references: readonly Reference[];
  readonly suggestedNextSteps: readonly Suggestion[];
  /** Citations that were taken out on the way. */
  readonly removed: readonly RemovedCitation[];
}

export interface Reply {
  /** Of the streamed message, if it had one. */
  readonly id: string;
  readonly text: string;
  readonly removed: readonly RemovedCitation[];
}

const INSTRUCTIONS = `Write the reply to the user: what was found, how sure it is, and what it rests on, with citations. Say which tasks and files failed, and why. Name files that tasks have made. When there are suggestedNextSteps, end with them as a question. Markdown, at most 500 words. Leave the list of sources out: it is added.`;

const State = defineState({
  input: { type: z.unknown() },
  draft: { type: z.object({ id: z.string(), text: z.string() }) },
  result: { type: z.unknown() },
});

export function createReply(modelOf: (config: LangGraphRunnableConfig) => BaseChatModel) {
  const graph = new StateGraph(State.annotation)
    .addNode("write", async ({ input }, config: LangGraphRunnableConfig) => {
      const { references, removed: _, ...shown } = input as ReplyInput;
      const citable = references.map(({ id, title }) => `${id}: ${title}`);
      const prompt = toMessages("reply", INSTRUCTIONS, { ...shown, citable });
      const message = await modelOf(config).invoke(prompt, config);
      const text = message.text.trim();
      if (text === "")
        throw new AnswerError('The model gave no usable answer for the step "reply": it was empty.');
      return { draft: { id: message.id ?? "", text } };
    })
    .addNode("check", ({ input, draft }) => ({ result: toReply(input as ReplyInput, draft) }))
    .addEdge(START, "write")
    .addEdge("write", "check")
    .addEdge("check", END)
    .compile({ name: "reply" });
  return {
    graph,
    run: async (input: ReplyInput, config: LangGraphRunnableConfig) =>
      (await graph.invoke({ input }, config)).result as Reply,
  };
}

function toReply({ references, removed }: ReplyInput, draft: { id: string; text: string } | null): Reply {
  const checked = checkCitations(draft?.text ?? "", references);
  const cited = references.filter(({ id }) => checked.cited.includes(id));
  const all = [...new Map([...removed, ...checked.removed].map((one) => [one.citation, one])).values()];
  const parts = [
    checked.text,
    list("Sources", cited.map(toLine)),
    list(
      "Left out",
      all.map(({ citation, reason }) => `${citation}: ${reason}`),
    ),
  ];
  return { id: draft?.id ?? "", text: parts.filter(Boolean).join("\n\n"), removed: checked.removed };
}

const list = (title: string, lines: readonly string[]) =>
  lines.length === 0 ? "" : `**${title}**\n\n${lines.map((line) => `* ${line}`).join("\n")}`;

function toLine({ id, title, authors, year, url }: Reference): string {
  const who = authors.length > 2 ? `${authors[0]} et al.` : authors.join(" and ");
  const facts = [who, year].filter(Boolean).join(", ");
  return `[${id}] ${title}${facts ? ` (${facts})` : ""}${url ? ` ${url}` : ""}`;
}
