// Asks a provider over HTTP, politely: says who asks, waits between attempts and as long as Retry-After says, gives up
// after a time, and reads no endless answer.
import { setTimeout as wait } from "node:timers/promises";
import pRetry from "p-retry";
import { LiteratureError } from "./provider.ts";

export interface RequestSettings {
  /** Milliseconds for one attempt, its answer included. */
  readonly timeoutMs: number;
  readonly retries: number;
  /** Milliseconds before the first retry; each further one waits twice as long. */
  readonly backoffMs: number;
  /** Milliseconds of Retry-After that are still waited for; a provider that wants more is given up. */
  readonly maxRetryAfterMs: number;
  /** Address that providers may write to. Named in each request. */
  readonly mailto?: string | undefined;
}

export const REQUEST_SETTINGS: RequestSettings = {
  timeoutMs: 20_000,
  retries: 3,
  backoffMs: 1_000,
  maxRetryAfterMs: 60_000,
};

const MAX_ANSWER_BYTES = 10 * 1024 ** 2;

/** An attempt that failed; whether another one may do better. */
class Failed extends Error {
  readonly mayRetry: boolean;
  readonly afterMs: number;

  constructor(message: string, { mayRetry = true, afterMs = 0 } = {}) {
    super(message);
    this.mayRetry = mayRetry;
    this.afterMs = afterMs;
  }
}

/**
 * What `read` makes of the answer's text. An answer that it cannot read is asked for again, as one that broke off.
 * @throws LiteratureError
 */
export async function request<Result>(
  provider: string,
  url: URL,
  read: (text: string) => Result,
  settings: RequestSettings,
  signal?: AbortSignal,
): Promise<Result> {
  const { retries, backoffMs, maxRetryAfterMs } = settings;
  try {
    return await pRetry(async () => parse(await attempt(url, settings, signal), read), {
      retries,
      minTimeout: backoffMs,
      randomize: true,
      ...(signal && { signal }),
      shouldRetry: ({ error }) =>
        error instanceof Failed && error.mayRetry && error.afterMs <= maxRetryAfterMs,
      onFailedAttempt: async ({ error, retriesLeft }) => {
        const { afterMs } = error instanceof Failed ? error : { afterMs: 0 };
        if (retriesLeft > 0 && afterMs <= maxRetryAfterMs) await wait(afterMs, undefined, { signal });
      },
    });
  } catch (error) {
    signal?.throwIfAborted();
    throw new LiteratureError(`${provider} ${error instanceof Failed ? error.message : "failed"}`, {
      cause: error,
    });
  }
}

async function attempt(url: URL, settings: RequestSettings, signal?: AbortSignal): Promise<string> {
  const { timeoutMs, mailto } = settings;
  const deadline = AbortSignal.timeout(timeoutMs);
  const userAgent = mailto ? `Heddle (mailto:${mailto})` : "Heddle";
  try {
    const response = await fetch(url, {
      signal: signal ? AbortSignal.any([signal, deadline]) : deadline,
      headers: { "user-agent": userAgent },
    });
    if (response.ok) return await readText(response);
    await response.body?.cancel();
    const { status } = response;
    throw new Failed(`answered ${status}.`, {
      mayRetry: status === 429 || status === 408 || status >= 500,
      afterMs: toMilliseconds(response.headers.get("retry-after")),
    });
  } catch (error) {
    if (error instanceof Failed) throw error;
    signal?.throwIfAborted();
    if (deadline.aborted) throw new Failed(`did not answer within ${timeoutMs / 1000} seconds.`);
    throw new Failed("could not be reached.");
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new Failed("sent an answer without end.", { mayRetry: false });
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

function parse<Result>(text: string, read: (text: string) => Result): Result {
  try {
    return read(text);
  } catch {
    throw new Failed("sent an answer that cannot be read.");
  }
}

/** Retry-After: seconds, or a date. */
function toMilliseconds(header: string | null): number {
  if (header === null) return 0;
  const seconds = Number(header);
  const milliseconds = Number.isNaN(seconds) ? Date.parse(header) - Date.now() : seconds * 1000;
  return Math.max(0, milliseconds || 0);
}
