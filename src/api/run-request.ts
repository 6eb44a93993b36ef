// From the body and headers of a request to the run it asks for.
import type { IncomingHttpHeaders } from "node:http";
import { AppError } from "../errors.ts";
import type { RunRequest } from "../runs/create-run.ts";
import type { StreamMode } from "../runs/run-kwargs.ts";
import type { RunBody } from "./schemas/runs.ts";

export function toRunRequest(
  body: RunBody,
  threadId: string | undefined,
  headers: IncomingHttpHeaders,
): RunRequest {
  const checkpoint =
    body.checkpoint || body.checkpoint_id
      ? { ...(body.checkpoint_id ? { checkpoint_id: body.checkpoint_id } : {}), ...body.checkpoint }
      : undefined;
  return {
    threadId,
    assistantId: body.assistant_id,
    input: body.input,
    command: body.command,
    config: body.config,
    context: body.context,
    metadata: body.metadata,
    streamMode: toModes(body.stream_mode),
    streamSubgraphs: body.stream_subgraphs ?? false,
    interruptBefore: body.interrupt_before,
    interruptAfter: body.interrupt_after,
    checkpoint,
    multitaskStrategy: body.multitask_strategy ?? "reject",
    ifNotExists: body.if_not_exists ?? "reject",
    onCompletion: body.on_completion ?? "delete",
    afterSeconds: body.after_seconds ?? 0,
    idempotencyKey: toKey(headers["idempotency-key"]),
    headers: toConfigurable(headers),
  };
}

const toModes = (mode: StreamMode | StreamMode[] | undefined): StreamMode[] =>
  mode === undefined || mode.length === 0 ? ["values"] : [...new Set([mode].flat())];

/** @throws AppError invalid_request */
function toKey(header: string | string[] | undefined): string | undefined {
  if (header === undefined) return undefined;
  const key = String(header);
  if (key.length >= 1 && key.length <= 255) return key;
  throw new AppError("invalid_request", "Idempotency-Key must have 1 to 255 characters.");
}

const SECRET = new Set(["x-api-key", "x-tenant-id", "x-service-key", "x-auth-scheme"]);

/** The headers that a graph may read in `configurable`: `x-…` without the credentials, and the user agent. */
function toConfigurable(headers: IncomingHttpHeaders): Record<string, string> {
  const shown = Object.entries(headers).filter(
    ([name]) => name === "user-agent" || (name.startsWith("x-") && !SECRET.has(name)),
  );
  return Object.fromEntries(shown.map(([name, value]) => [name, String(value)]));
}
