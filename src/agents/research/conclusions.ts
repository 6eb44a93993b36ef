// The subagents that think about what the tasks have found: hypothesis, reflection, discovery. Each returns data whose
// citations have been checked.
import { z } from "zod";
import type { Ask } from "./ask.ts";
import { checkCitations, checkIds, type RemovedCitation } from "./citations.ts";
import type { Material } from "./knowledge.ts";
import type { Reference } from "./research-state.ts";
import { createSubagent } from "./subagent.ts";

interface ConclusionInput {
  readonly question: string;
  readonly material: Material;
  /** What may be cited. */
  readonly references: readonly Reference[];
}

const toPrompt = ({ question, material, references }: ConclusionInput) => ({
  question,
  ...material,
  citable: references.map(({ id, title }) => `${id}: ${title}`),
});

interface Checked {
  readonly removed: readonly RemovedCitation[];
}

export const createHypothesis = (ask: Ask) =>
  createSubagent(ask, {
    name: "hypothesis",
    instructions: `Give the hypothesis that fits best to what the tasks have found so far, in at most 150 words, with citations. When there is one already, keep, sharpen or replace it. When the findings carry none, say so.`,
    schema: z.object({ hypothesis: z.string().min(1) }),
    toPrompt,
    check: ({ hypothesis }, { references }): Checked & { readonly hypothesis: string } => {
      const { text, removed } = checkCitations(hypothesis, references);
      return { hypothesis: text, removed };
    },
  });

const reflectionSchema = z.object({
  currentObjective: z.string().min(1).describe("What the next iteration should find out."),
  keyInsights: z
    .array(z.string())
    .max(10)
    .describe("New findings, one sentence with its citation each; none that the material has already."),
  methodology: z.string().describe("How the findings were come to, in a few sentences."),
  conversationTitle: z.string().describe("At most 8 words."),
});

export const createReflection = (ask: Ask) =>
  createSubagent(ask, {
    name: "reflection",
    instructions: "Reflect on the last tasks: what is known now that was not known before, and what is open.",
    schema: reflectionSchema,
    toPrompt,
    check: (draft, { references }): Checked & z.output<typeof reflectionSchema> => {
      const insights = draft.keyInsights.map((insight) => checkCitations(insight, references));
      const methodology = checkCitations(draft.methodology, references);
      return {
        ...draft,
        conversationTitle: draft.conversationTitle.replace(/\s+/g, " ").slice(0, 100).toWellFormed(),
        keyInsights: insights.map(({ text }) => text).filter(Boolean),
        methodology: methodology.text,
        removed: [...insights, methodology].flatMap(({ removed }) => removed),
      };
    },
  });

const discoveriesSchema = z.object({
  discoveries: z
    .array(
      z.object({
        claim: z.string().min(1),
        evidence: z.array(
          z.object({
            source: z.string().describe("An id of citable."),
            explanation: z.string().default("").describe("What of it supports the claim."),
          }),
        ),
      }),
    )
    .max(10),
});

interface Discovered extends Checked {
  readonly discoveries: readonly {
    readonly claim: string;
    readonly evidence: readonly { readonly source: string; readonly explanation: string }[];
  }[];
}

export const createDiscovery = (ask: Ask) =>
  createSubagent(ask, {
    name: "discovery",
    instructions: `List claims that are new: not in the discoveries of the material, and not simply in one publication, but following from what several tasks have found, or from an analysis of the data. Each with its evidence. None is a good answer.`,
    schema: discoveriesSchema,
    toPrompt,
    check: ({ discoveries }, { references, material }): Discovered => {
      const removed: RemovedCitation[] = [];
      const kept = discoveries.flatMap(({ claim, evidence }) => {
        const found = evidence.map(({ source, explanation }) => ({
          explanation,
          ...checkIds([source], references),
        }));
        const checked = checkCitations(claim, references);
        removed.push(...found.flatMap((one) => one.removed), ...checked.removed);
        const held = found.flatMap(({ cited, explanation }) =>
          cited.map((source) => ({ source, explanation: checkCitations(explanation, references).text })),
        );
        if (held.length > 0) return [{ claim: checked.text, evidence: held }];
        removed.push({ citation: claim, reason: "The claim has no evidence that a task has returned." });
        return [];
      });
      const known = new Set(material.discoveries);
      return { discoveries: kept.filter(({ claim }) => !known.has(claim)), removed };
    },
  });
