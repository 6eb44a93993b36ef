// The parameters of commands.
import { z } from "zod";
import { goto, graphInput, update } from "../runs/graph-input.ts";
import { isChannel } from "./channels.ts";
import { ProtocolError } from "./responses.ts";

const optional = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);
const record = z.record(z.string(), z.unknown());
const namespace = z.array(z.string());
const config = optional(
  z.looseObject({
    tags: optional(z.array(z.string())),
    recursion_limit: optional(z.number().int().min(1).max(100_000)),
    configurable: optional(record),
  }),
);
const strategy = optional(z.enum(["reject", "enqueue", "interrupt", "rollback"]));

export const runStart = z.looseObject({
  assistant_id: z.string().min(1),
  input: graphInput.optional(),
  config,
  metadata: optional(record),
  // Newer SDKs send both, older ones only the first.
  multitaskStrategy: strategy,
  multitask_strategy: strategy,
});

const answer = z.looseObject({
  interrupt_id: z.string().min(1),
  response: z.unknown(),
  namespace: optional(namespace),
});
const withAnswer = {
  update: optional(update),
  goto: optional(goto),
  config,
  metadata: optional(record),
  /** An answer that nobody waits for is the run's failure, which names it and what waits, and not the command's. */
  strict_resume: optional(z.boolean()),
};

/** One answer, or several at once. */
export const inputRespond = z
  .looseObject({
    ...answer.partial().shape,
    responses: optional(z.array(answer).min(1)),
    ...withAnswer,
  })
  .transform(({ interrupt_id, response, responses, ...rest }, context) => {
    if (responses) return { ...rest, answers: responses };
    if (interrupt_id !== undefined) return { ...rest, answers: [{ interrupt_id, response }] };
    context.addIssue("either interrupt_id and response, or responses, a list of such, is needed");
    return z.NEVER;
  });

export const stateGet = z.looseObject({
  namespace: optional(namespace),
  keys: optional(z.array(z.string())),
});

export const listCheckpoints = z.looseObject({
  namespace: optional(namespace),
  limit: z.number().int().min(1).max(1_000).default(10),
  before: optional(z.string()),
});

export const stateFork = z.looseObject({
  checkpoint_id: z.string().min(1),
  input: graphInput.optional(),
  config,
});

export const getTree = z.looseObject({ run_id: optional(z.guid("Invalid UUID")) });

export const subscribe = z.looseObject({
  channels: z.array(z.string().refine(isChannel, "is not a channel")).min(1),
  namespaces: optional(z.array(namespace)),
  depth: optional(z.number().int().min(0)),
});

export const unsubscribe = z.looseObject({ subscription_id: z.string() });

/** @throws ProtocolError invalid_argument that names what is wrong */
export function parse<T extends z.ZodType>(schema: T, method: string, params: unknown): z.output<T> {
  const { success, data, error } = schema.safeParse(params ?? {});
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${["params", ...path].join(".")}: ${message}`);
  throw new ProtocolError("invalid_argument", `${method}: ${problems.join("; ")}`);
}
