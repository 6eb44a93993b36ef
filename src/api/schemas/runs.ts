// Bodies and queries of the run routes.
import { z } from "zod";
import { STREAM_MODES } from "../../runs/run-kwargs.ts";
import { checkpoint, flag, graphInput, jsonObject, optional, page } from "./common.ts";

const streamMode = z.enum(STREAM_MODES);
const nodes = z.union([z.literal("*"), z.array(z.string())]);
const goto = z.union([z.string(), z.looseObject({ node: z.string(), input: z.unknown().optional() })]);

export const runBody = z.looseObject({
  assistant_id: z.string().min(1),
  input: graphInput.optional(),
  command: optional(
    z.looseObject({
      goto: optional(z.union([goto, z.array(goto)])),
      update: z.unknown().optional(),
      resume: z.unknown().optional(),
    }),
  ),
  checkpoint_id: optional(z.uuid()),
  checkpoint: optional(checkpoint),
  metadata: optional(jsonObject),
  config: optional(
    z.looseObject({
      tags: optional(z.array(z.string())),
      recursion_limit: optional(z.number().int().min(1).max(100_000)),
      configurable: optional(jsonObject),
    }),
  ),
  context: z.unknown().optional(),
  interrupt_before: optional(nodes),
  interrupt_after: optional(nodes),
  stream_mode: optional(z.union([streamMode, z.array(streamMode)])),
  stream_subgraphs: optional(z.boolean()),
  on_disconnect: optional(z.enum(["cancel", "continue"])),
  on_completion: optional(z.enum(["delete", "keep"])),
  multitask_strategy: optional(z.enum(["reject", "enqueue", "interrupt", "rollback"])),
  if_not_exists: optional(z.enum(["create", "reject"])),
  after_seconds: optional(z.number().min(0).max(31_536_000)),
});

export type RunBody = z.output<typeof runBody>;

export const runListQuery = z.object({
  ...page,
  status: optional(z.enum(["pending", "running", "success", "error", "timeout", "interrupted"])),
});

export const cancelQuery = z.object({
  wait: flag,
  action: z.enum(["interrupt", "rollback"]).default("interrupt"),
});

export const joinQuery = z.object({ cancel_on_disconnect: flag });
