// The envelope: one shape for everything that happens in a run, whatever made it. Its schema is the contract with user
// interfaces; docs/envelope.schema.json is made from it.
import { z } from "zod";

/** What an interface is shown: joined and trimmed (`user`), or everything as it came (`debug`). */
export const PROFILES = ["user", "debug"] as const;
export type Profile = (typeof PROFILES)[number];

const head = {
  ts: z.number().describe("Seconds since 1970."),
  trace_id: z.guid().describe("Of all that follows from one request: the call of its root graph."),
  run_id: z.string(),
  parent_id: z.guid().nullable().describe("The call that this one is part of; null for the root graph."),
  call_id: z.guid().describe("One graph, tool or model at work. The same on a retry and on a replay."),
  seq: z.int().min(1).describe("Grows within the call, with gaps where events were joined."),
  origin: z.enum(["live", "replay"]).describe("Whether it happened before the reader came (replay)."),
  agent: z.string().describe("The graph or agent at work."),
};

const text = z.string();
const json = z.unknown();
const record = z.record(z.string(), json);

/** How a call has ended; `interrupted` waits for an answer, `cancelled` was stopped. */
const status = z.enum(["success", "error", "interrupted", "cancelled"]);
/** Nothing told of the end: the adapter has made it, with a warning before it. */
const end = { status, synthetic: z.literal(true).optional() };

const PAYLOADS = {
  llm_start: z.looseObject({ model: text, params: record, node: text.optional() }),
  llm_token: z.looseObject({ text, logprob: z.number().optional(), reasoning: text.optional() }),
  llm_end: z.looseObject({ usage: record.nullable(), finish_reason: text.nullable(), ...end }),
  tool_start: z.union([
    z.looseObject({ tool_name: text, input: json, meta: record.optional() }).describe("A graph."),
    z.looseObject({ tool_name: text, args: json, node: text }).describe("A tool."),
  ]),
  tool_update: z.looseObject({ tool_name: text, data: json }),
  tool_end: z.looseObject({
    tool_name: text,
    result: json.describe(
      "Of a graph: { messages, files: { added, changed }, usage }, what it has added to its state.",
    ),
    shape: record.optional().describe("Of a graph: a JSON schema of its state, as far as it was seen."),
    ...end,
  }),
  subgraph_checkpoint: z.looseObject({
    checkpoint_id: text,
    node: text.nullable().describe("What ran before it; null at the beginning."),
    state_digest: text.nullable().describe("SHA-256 of the state's JSON."),
  }),
  subgraph_resume: z.looseObject({ checkpoint_id: text.nullable(), node: text.nullable() }),
  warning: z.looseObject({ name: text, message: text }),
  error: z.looseObject({
    name: text,
    message: text,
    class: text,
    stack: text.nullable().optional().describe("Only in the profile debug, where it is known."),
  }),
};

export type EnvelopeType = keyof typeof PAYLOADS;

const shapeOf = <T extends EnvelopeType>(type: T) =>
  z.object({ type: z.literal(type), ...head, payload: PAYLOADS[type] });

/** Checks one envelope. */
export const envelopeSchema = z.discriminatedUnion("type", [
  shapeOf("llm_start"),
  shapeOf("llm_token"),
  shapeOf("llm_end"),
  shapeOf("tool_start"),
  shapeOf("tool_update"),
  shapeOf("tool_end"),
  shapeOf("subgraph_checkpoint"),
  shapeOf("subgraph_resume"),
  shapeOf("warning"),
  shapeOf("error"),
]);

type Head = z.output<z.ZodObject<typeof head>>;

/** One envelope of any type. `payload` is as its type says in `envelopeSchema`. */
export interface Envelope extends Head {
  readonly type: EnvelopeType;
  readonly payload: Record<string, unknown>;
}

/** An envelope without what only its reader knows. */
export type Said = Omit<Envelope, "ts" | "origin">;

/** In the order of the document, so that a line is easily read. */
export function toEnvelope(
  { type, trace_id, run_id, parent_id, call_id, seq, agent, payload }: Said,
  ts: number,
  origin: Envelope["origin"],
): Envelope {
  return { type, ts, trace_id, run_id, parent_id, call_id, seq, origin, agent, payload };
}

/** An envelope whose payload is known by its type: what `envelopeSchema.parse` gives. */
export type TypedEnvelope = z.output<typeof envelopeSchema>;
