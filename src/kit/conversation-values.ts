// What a conversation has learned and what one message needs: document 002, "State Types". Names and shapes are the
// document's, because clients read them. Objects inside lists stay open, so that a field a later version adds survives;
// keys do not: a misspelt one would be lost knowledge.
import { z } from "zod";
import { mergeLists } from "./merge.ts";

/** Milliseconds since 1970, by the database's clock. A step without an end is under way, or was given up. */
const step = z.looseObject({ start: z.number(), end: z.number().optional() });

const messageFields = {
  messageId: z.string(),
  conversationId: z.string(),
  userId: z.string(),
  source: z.string(),
  isDeepResearch: z.boolean(),
  /** Final text from REPLY or HYPOTHESIS. */
  finalResponse: z.string(),
  thought: z.string(),
  steps: z.record(z.string(), step),
};

const taskType = z.enum(["LITERATURE", "ANALYSIS"]);

const planTaskSchema = z.looseObject({
  id: z.string().optional(),
  objective: z.string(),
  type: taskType,
  /** Tasks of one level run in parallel. */
  level: z.int().min(0).optional(),
  datasets: z.array(z.looseObject({ filename: z.string() })).optional(),
  reasoning: z.union([z.string(), z.array(z.string())]).optional(),
  output: z.string().optional(),
});
export type PlanTask = z.output<typeof planTaskSchema>;

const discoverySchema = z.looseObject({
  claim: z.string(),
  /** What it rests on: tasks, and what they returned. */
  evidence: z.array(z.looseObject({})).optional(),
});
export type Discovery = z.output<typeof discoverySchema>;

const datasetSchema = z.looseObject({
  filename: z.string(),
  id: z.string(),
  description: z.string(),
  path: z.string().optional(),
  /** Parsed preview. */
  content: z.string().optional(),
  /** Bytes. */
  size: z.number().optional(),
});

const clarificationSchema = z.looseObject({
  sessionId: z.string(),
  refinedObjective: z.string(),
  questionsAndAnswers: z.array(z.looseObject({ question: z.string(), answer: z.string() })),
  initialTasks: z
    .array(z.looseObject({ objective: z.string(), type: taskType, datasetFilenames: z.array(z.string()) }))
    .optional(),
});

const researchFields = {
  /** Initial research question. */
  objective: z.string(),
  /** Current iteration objective. */
  currentObjective: z.string(),
  /** Slowly-evolving high-level direction. */
  evolvingObjective: z.string(),
  /** Concise title (updated by reflection). */
  conversationTitle: z.string(),
  /** Key findings across iterations. */
  keyInsights: z.array(z.string()),
  methodology: z.string(),
  /** Current hypothesis with citations. */
  currentHypothesis: z.string(),
  /** Novel claims with evidence links. */
  discoveries: z.array(discoverySchema),
  /** All executed tasks (with levels). */
  plan: z.array(planTaskSchema),
  /** Suggestions for next iteration. */
  suggestedNextSteps: z.array(planTaskSchema),
  /** Current iteration level (for UI). */
  currentLevel: z.int().min(0),
  researchMode: z.enum(["semi-autonomous", "fully-autonomous", "steering"]),
  uploadedDatasets: z.array(datasetSchema),
  clarificationContext: clarificationSchema,
};

/** The long run of a conversation. Derived from the run and its lease at each read; never written. Times are ISO 8601. */
export interface DeepResearchRun {
  isRunning: boolean;
  rootMessageId: string;
  stateId: string;
  /** "queue": a worker of a server runs it. "in-process": the graph runs without one. */
  mode: "queue" | "in-process";
  /** The run's id. */
  jobId?: string;
  startedAt: string;
  lastHeartbeatAt: string;
  /** When the lease ends unless it is renewed. Of a run that has ended: its end. */
  expiresAt: string;
  /** "stale_recovered": its worker fell silent, and another one goes on with it. */
  lastResult?: "completed" | "failed" | "stale_recovered";
  lastError?: string;
  endedAt?: string;
}

type Values<Fields extends z.ZodRawShape> = { [Key in keyof Fields]?: z.output<Fields[Key]> };

/** Document 002 `StateValues`: what one message needs. */
export type StateValues = Values<typeof messageFields>;

/** Document 002 `ConversationStateValues`: what the conversation knows. `objective` is "" until somebody sets it. */
export interface ConversationStateValues
  extends StateValues,
    Values<Omit<typeof researchFields, "objective">> {
  objective: string;
  deepResearchRun?: DeepResearchRun;
}

/** What a conversation without any change holds. */
export const EMPTY_CONVERSATION: ConversationStateValues = { objective: "" };

type Patched<Fields extends z.ZodRawShape> = {
  [Key in keyof Fields]: z.ZodOptional<z.ZodNullable<Fields[Key]>>;
};

const patched = <Fields extends z.ZodRawShape>(fields: Fields) =>
  Object.fromEntries(
    Object.entries(fields).map(([key, type]) => [key, (type as z.ZodType).nullable().optional()]),
  ) as unknown as Patched<Fields>;

const hasKeys = (values: object) => Object.keys(values).length > 0;
const NO_KEY = "There is no key to change.";

/** A change of the conversation: keys that are left out stay, null clears. */
export const conversationPatchSchema = z
  .strictObject({
    ...patched(messageFields),
    ...patched(researchFields),
    objective: researchFields.objective.optional(),
    deepResearchRun: z.never("It follows from the conversation's runs and cannot be written.").optional(),
  })
  .refine(hasKeys, NO_KEY);
export type ConversationPatch = z.input<typeof conversationPatchSchema>;

/** A change of a message's state: keys that are left out stay, null clears. Steps have a way of their own. */
export const messagePatchSchema = z
  .strictObject({ ...patched(messageFields), steps: z.never("Steps are started and ended.").optional() })
  .refine(hasKeys, NO_KEY);
export type MessagePatch = z.input<typeof messagePatchSchema>;

/** Keys whose lists grow, each element once; every other key is replaced. */
const APPENDED: ReadonlySet<string> = new Set(["keyInsights", "discoveries"]);

export interface PatchParts {
  readonly replaced: Readonly<Record<string, unknown>>;
  readonly appended: Readonly<Record<string, readonly unknown[]>>;
  readonly cleared: readonly string[];
}

/** What a patch does to each key. */
export function toPatchParts(patch: ConversationPatch | MessagePatch): PatchParts {
  const entries = Object.entries(patch).filter(([, value]) => value !== undefined);
  const written = entries.filter(([, value]) => value !== null);
  return {
    replaced: Object.fromEntries(written.filter(([key]) => !APPENDED.has(key))),
    appended: Object.fromEntries(written.filter(([key]) => APPENDED.has(key))) as PatchParts["appended"],
    cleared: entries.filter(([, value]) => value === null).map(([key]) => key),
  };
}

/** What several patches do, one after the other. */
export function toCombinedParts(all: readonly PatchParts[]): PatchParts {
  const replaced = new Map<string, unknown>();
  const appended = new Map<string, readonly unknown[]>();
  const cleared = new Set<string>();
  for (const parts of all) {
    for (const key of parts.cleared) {
      cleared.add(key);
      replaced.delete(key);
      appended.delete(key);
    }
    for (const [key, value] of Object.entries(parts.replaced)) replaced.set(key, value);
    for (const [key, list] of Object.entries(parts.appended))
      appended.set(key, [...(appended.get(key) ?? []), ...list]);
  }
  return {
    replaced: Object.fromEntries(replaced),
    appended: Object.fromEntries(appended),
    cleared: [...cleared],
  };
}

/** The values after a patch. First is cleared, then written. */
export function mergeValues<Held extends object>(
  values: Held,
  { replaced, appended, cleared }: PatchParts,
): Held {
  const kept = Object.fromEntries(Object.entries(values).filter(([key]) => !cleared.includes(key)));
  const grown = Object.entries(appended).map(([key, list]) => [
    key,
    mergeLists(kept[key] as readonly unknown[] | undefined, list),
  ]);
  return { ...kept, ...replaced, ...Object.fromEntries(grown) } as Held;
}
