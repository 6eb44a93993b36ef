// Bodies and queries of the run routes.
import { z } from "zod";
import { goto, graphInput, update } from "../../runs/graph-input.ts";
import { STREAM_MODES } from "../../runs/run-kwargs.ts";
import { checkpoint, flag, jsonObject, optional, pageQuery, repeated, uuid } from "./common.ts";

const streamMode = z.enum(STREAM_MODES);
const nodes = z.union([z.literal("*"), z.array(z.string())]);

export const command = z.looseObject({
  goto: optional(goto),
  update: optional(update),
  resume: z.unknown().optional(),
});

export const runBody = z.looseObject({
  assistant_id: z.string().min(1),
  input: graphInput.optional(),
  command: optional(command),
  checkpoint_id: optional(uuid),
  checkpoint: optional(checkpoint),
  metadata: optional(jsonObject),
  config: optional(
    z.looseObject({
      tags: optional(z.array(z.string())),
      recursion_limit: optional(z.number().int().min(1).max(100_000)),
      configurable: optional(jsonObject),
      metadata: optional(jsonObject),
    }),
  ),
  context: z.unknown().optional(),
  interrupt_before: optional(nodes),
  interrupt_after: optional(nodes),
  stream_mode: optional(z.union([streamMode, z.array(streamMode)])),
  stream_subgraphs: optional(z.boolean()),
  webhook: optional(z.string()),
  // Every stream is, and every checkpoint is written before the next step starts: taken, and nothing to do.
  stream_resumable: optional(z.boolean()),
  durability: optional(z.enum(["sync", "async", "exit"])),
  checkpoint_during: optional(z.boolean()),
  // For LangSmith.
  feedback_keys: optional(z.union([z.string(), z.array(z.string())])),
  langsmith_tracer: optional(
    z.looseObject({ project_name: optional(z.string()), example_id: optional(z.string()) }),
  ),
  strict_resume: optional(z.boolean()),
  on_disconnect: optional(z.enum(["cancel", "continue"])),
  on_completion: optional(z.enum(["delete", "keep"])),
  multitask_strategy: optional(z.enum(["reject", "enqueue", "interrupt", "rollback"])),
  if_not_exists: optional(z.enum(["create", "reject"])),
  after_seconds: optional(z.number().min(0).max(31_536_000)),
});

export type RunBody = z.output<typeof runBody>;

/** The SDK's `createBatch` sends its options as they are called in JavaScript, beside `assistant_id`. */
const toSnakeCase = (body: unknown) =>
  typeof body !== "object" || body === null
    ? body
    : Object.fromEntries(
        Object.entries(body).map(([key, value]) => [
          key.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
          value,
        ]),
      );

export const batchBody = z.array(z.preprocess(toSnakeCase, runBody)).min(1).max(1_000);

const status = z.enum(["pending", "running", "success", "error", "timeout", "interrupted"]);

export const runListQuery = z.object({
  ...pageQuery,
  status: optional(status),
  select: repeated(z.string()),
});

const action = z.enum(["interrupt", "rollback"]).default("interrupt");

export const cancelQuery = z
  .object({ wait: flag, action, reason: z.enum(["", "taken"]).default("") })
  .refine((query) => query.reason === "" || query.action === "interrupt", {
    path: ["reason"],
    message: "Only a run that is interrupted can be taken.",
  });

export const cancelManyQuery = z.object({ action });

export const cancelManyBody = z
  .looseObject({
    thread_id: optional(uuid),
    run_ids: optional(z.array(uuid).max(1_000)),
    status: optional(z.enum(["pending", "running", "all"])),
  })
  .refine((body) => body.status !== undefined || body.run_ids !== undefined || body.thread_id !== undefined, {
    message: "Say which runs: status, or thread_id and run_ids.",
  });

export const joinQuery = z.object({ cancel_on_disconnect: flag });

/** What of a run's events is wanted. */
export const streamQuery = z.object({
  cancel_on_disconnect: flag,
  stream_mode: repeated(streamMode),
  namespace: repeated(z.string().max(2_000)),
  checkpoint_id: optional(uuid),
});

export type StreamQuery = z.output<typeof streamQuery>;

/** Of a stream that begins with its run. */
export const newStreamQuery = streamQuery.pick({ namespace: true });

export const statelessRunParams = z.object({ run_id: uuid });
