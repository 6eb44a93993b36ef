// Repeats a model call that failed for a passing reason, and ends the run with a sentence for a person when it
// goes on failing. A failure never becomes an answer. The one place that repeats: the model's own retries are
// switched off for the call, because they know neither a broken stream nor a 429 without Retry-After.
import { setTimeout } from "node:timers/promises";
import { ContextOverflowError, getRetryable } from "@langchain/core/errors";
import { isGraphBubbleUp } from "@langchain/langgraph";
import { createMiddleware, type ModelRequest } from "langchain";

interface ModelErrorsOptions {
  /** How often a call of this model is repeated; 3 by default. */
  readonly maxRetries?: (model: ModelRequest["model"]) => number;
  /** Waits between two calls; ends early, with an error, when the signal aborts. */
  readonly wait?: (milliseconds: number, signal: AbortSignal | undefined) => Promise<void>;
}

/** Longer than this a run does not wait for an endpoint that names a time. */
const MAX_WAIT_MS = 60_000;
const PASSING_STATUS = new Set([408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529]);
const PASSING_CODE = /^(?:ECONN|EPIPE|ETIMEDOUT|ENETUNREACH|EHOSTUNREACH|EAI_AGAIN|UND_ERR_)/;

/** A model call that failed for good. The message is for the user: it holds no key, no stack and no host path. */
class ModelCallError extends Error {
  /** HTTP status of the endpoint's last answer, if there was one. */
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined, cause: unknown) {
    super(message, { cause });
    this.name = "ModelCallError";
    this.status = status;
  }
}

export function createModelErrors({ maxRetries = () => 3, wait = waitFor }: ModelErrorsOptions = {}) {
  return createMiddleware({
    name: "model-errors",
    wrapModelCall: async (request, handler) => {
      const { signal } = request.runtime;
      const delegated = { ...request, modelSettings: { ...request.modelSettings, maxRetries: 0 } };
      const attempts = 1 + maxRetries(request.model);
      for (let attempt = 1; ; attempt++) {
        try {
          return await handler(delegated);
        } catch (error) {
          if (isGraphBubbleUp(error) || signal?.aborted) throw error;
          const delay = delayOf(error, attempt);
          if (!isPassing(error) || attempt >= attempts || delay > MAX_WAIT_MS)
            throw toModelCallError(error, attempt);
          await wait(delay, signal);
        }
      }
    },
  });
}

async function waitFor(milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  await setTimeout(milliseconds, undefined, { signal });
}

function isPassing(error: unknown): boolean {
  const marked = getRetryable(error);
  if (marked !== undefined) return marked;
  const status = statusOf(error);
  return status === undefined ? isConnectionError(error) : PASSING_STATUS.has(status);
}

function delayOf(error: unknown, attempt: number): number {
  const asked = field(error, "retryAfterMs") ?? retryAfterHeader(error);
  if (typeof asked === "number" && asked >= 0) return asked;
  // Half of it by chance, so that runs which failed together do not come back together.
  const backoff = Math.min(500 * 2 ** (attempt - 1), 20_000);
  return backoff / 2 + Math.random() * (backoff / 2);
}

/** Milliseconds; the header holds seconds or a date. */
function retryAfterHeader(error: unknown): number | undefined {
  const headers = field(error, "headers");
  const value = headers instanceof Headers ? headers.get("retry-after") : field(headers, "retry-after");
  if (typeof value !== "string" || value.trim() === "") return undefined;
  const seconds = Number(value);
  const milliseconds = Number.isNaN(seconds) ? Date.parse(value) - Date.now() : seconds * 1000;
  return Number.isNaN(milliseconds) ? undefined : Math.max(0, milliseconds);
}

function toModelCallError(error: unknown, attempts: number): unknown {
  const status = statusOf(error);
  const reason = ContextOverflowError.isInstance(error)
    ? "The conversation is longer than the model can read."
    : status === undefined
      ? connectionReason(error)
      : statusReason(status, error);
  // What is no failure of the endpoint (a bug, say) keeps its own words and class.
  if (reason === undefined) return error;
  const again = attempts > 1 ? ` It was called ${attempts} times.` : "";
  return new ModelCallError(reason + again, status ?? statusOf(field(error, "cause")), error);
}

function statusReason(status: number, error: unknown): string {
  const said = saidBy(error);
  if (status === 401 || status === 403) return `The model endpoint refused the API key (${status}).`;
  if (status === 404) return `The model endpoint does not know this model or path (404): ${said}`;
  if (status === 402 || field(error, "code") === "insufficient_quota") {
    return `The quota of the account at the model endpoint is used up (${status}).`;
  }
  if (status === 429) return "The model endpoint takes no more calls at present (429).";
  if (status >= 500) return `The model endpoint failed (${status}).`;
  return `The model endpoint refused the request (${status}): ${said}`;
}

function connectionReason(error: unknown): string | undefined {
  if (field(error, "name") === "TimeoutError") return "The model endpoint did not answer in time.";
  return isConnectionError(error) ? "The connection to the model endpoint failed or broke off." : undefined;
}

function isConnectionError(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (/^(?:TimeoutError|APIConnection(?:Timeout)?Error)$/.test(cause.name)) return true;
    if (/^(?:fetch failed|terminated|Connection error\.)$/.test(cause.message)) return true;
    const code = field(cause, "code");
    if (typeof code === "string" && PASSING_CODE.test(code)) return true;
  }
  return false;
}

function statusOf(error: unknown): number | undefined {
  const status = field(error, "status") ?? field(field(error, "response"), "status");
  return typeof status === "number" ? status : undefined;
}

/** The endpoint's own words: one line, bounded, without anything that looks like a key. */
function saidBy(error: unknown): string {
  const [text = ""] = (error instanceof Error ? error.message : "").split("\n\nTroubleshooting URL");
  const line = text
    .replace(/\s+/g, " ")
    .replace(/\b(?:sk|key|pk)-[\w*-]{4,}/g, "[key]")
    .trim();
  return line.length > 300 ? `${line.slice(0, 300).toWellFormed()}…` : line || "it gave no reason.";
}

function field(value: unknown, key: string): unknown {
  return typeof value === "object" && value !== null ? (value as Record<string, unknown>)[key] : undefined;
}
