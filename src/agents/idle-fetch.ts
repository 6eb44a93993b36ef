// A fetch that gives up when the other side falls silent, also in the middle of a streamed answer. The OpenAI client
// times only the wait for the headers, and a model endpoint that hangs then would hold the run for ever.

/** @param idleMs milliseconds without a byte after which the call fails with a TimeoutError */
export function createIdleFetch(idleMs: number, fetch: typeof globalThis.fetch = globalThis.fetch) {
  return async (input: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const silence = new AbortController();
    const clock = createClock(idleMs, () => {
      silence.abort(
        new DOMException(`The model endpoint was silent for ${idleMs / 1000} s.`, "TimeoutError"),
      );
    });
    const signal = init?.signal ? AbortSignal.any([init.signal, silence.signal]) : silence.signal;
    clock.start();
    const response = await fetch(input, { ...init, signal }).finally(clock.stop);
    return response.body
      ? new Response(ReadableStream.from(watch(response.body, clock)), response)
      : response;
  };
}

interface Clock {
  start(): void;
  stop(): void;
}

/** The clock runs only while we wait for the endpoint, not while someone takes their time with a chunk. */
async function* watch(body: AsyncIterable<Uint8Array>, clock: Clock): AsyncGenerator<Uint8Array> {
  try {
    clock.start();
    for await (const chunk of body) {
      clock.stop();
      yield chunk;
      clock.start();
    }
  } finally {
    clock.stop();
  }
}

function createClock(milliseconds: number, onTime: () => void): Clock {
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(timer);
  const start = () => {
    stop();
    timer = setTimeout(onTime, milliseconds);
  };
  return { start, stop };
}
