// From the body and headers of a request to the run it asks for.
import type { FastifyRequest } from "fastify";
import { AppError } from "../errors.ts";
import type { RunRequest } from "../runs/create-run.ts";
import type { StreamMode } from "../runs/run-kwargs.ts";
import { type RunBody, runBody } from "./schemas/runs.ts";

export function toRunRequest(
  body: RunBody,
  threadId: string | undefined,
  { headers, configurableHeaders }: Pick<FastifyRequest, "headers" | "configurableHeaders">,
): RunRequest {
  const { config, checkpoint } = takeCheckpoint(body);
  return {
    threadId,
    assistantId: body.assistant_id,
    input: body.input,
    command: body.command,
    config,
    context: body.context,
    metadata: body.metadata,
    streamMode: toModes(body.stream_mode),
    streamSubgraphs: body.stream_subgraphs ?? false,
    interruptBefore: body.interrupt_before,
    interruptAfter: body.interrupt_after,
    checkpoint,
    strictResume: body.strict_resume,
    multitaskStrategy: body.multitask_strategy ?? "reject",
    ifNotExists: body.if_not_exists ?? "reject",
    onCompletion: body.on_completion ?? "delete",
    webhook: body.webhook,
    afterSeconds: body.after_seconds ?? 0,
    idempotencyKey: toKey(headers["idempotency-key"]),
    headers: configurableHeaders,
  };
}

/** From a body that was stored, perhaps by an earlier version. @throws AppError invalid_request */
export function toStoredRunRequest(body: object, threadId: string | undefined): RunRequest {
  const parsed = runBody.safeParse(body);
  if (parsed.success) return toRunRequest(parsed.data, threadId, { headers: {}, configurableHeaders: {} });
  const [issue] = parsed.error.issues;
  throw new AppError("invalid_request", `payload.${issue?.path.join(".")}: ${issue?.message}`);
}

/**
 * Where the run starts from, which clients say in three ways. It goes into no configuration: what is in there, the thread's
 * later runs go by as well.
 */
function takeCheckpoint({
  config,
  checkpoint,
  checkpoint_id,
}: RunBody): Pick<RunRequest, "config" | "checkpoint"> {
  const {
    checkpoint_id: _,
    checkpoint_ns: __,
    checkpoint_map: ___,
    ...configurable
  } = config?.configurable ?? {};
  const place = { ...config?.configurable, ...defined({ checkpoint_id }), ...defined(checkpoint ?? {}) };
  const named = {
    ...(typeof place.checkpoint_id === "string" ? { checkpoint_id: place.checkpoint_id } : {}),
    ...(typeof place.checkpoint_ns === "string" ? { checkpoint_ns: place.checkpoint_ns } : {}),
    ...(isObject(place.checkpoint_map) ? { checkpoint_map: place.checkpoint_map } : {}),
  };
  return {
    config: config?.configurable ? { ...config, configurable } : config,
    checkpoint: named.checkpoint_id === undefined ? undefined : named,
  };
}

const isObject = (value: unknown) => typeof value === "object" && value !== null;
const defined = (fields: object) =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined && value !== null));

const toModes = (mode: StreamMode | StreamMode[] | undefined): StreamMode[] =>
  mode === undefined || mode.length === 0 ? ["values"] : [...new Set([mode].flat())];

/** @throws AppError invalid_request */
function toKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = String(header);
  if (key.length >= 1 && key.length <= 255) return key;
  throw new AppError("invalid_request", "Idempotency-Key must have 1 to 255 characters.");
}
