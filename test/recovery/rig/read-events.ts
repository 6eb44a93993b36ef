// One connection to a stream of server-sent events, as a client holds it: it may be cut off at any byte.
import { createParser } from "eventsource-parser";
import type { Frame } from "./history.ts";

/** A server that is paused answers nothing: a client would give it up as well. */
const SILENCE_MS = 8_000;

interface Reading {
  /** The id that it goes on behind. */
  readonly after: number;
  /** Bytes that are read. */
  readonly cutAfter: number;
  /** Milliseconds that are read. */
  readonly forMs?: number;
}

interface Read {
  readonly frames: Frame[];
  /** The server closed it in good order. */
  readonly ended: boolean;
}

export const readStream = (url: string, { thread, run, ...how }: Reading & { thread: string; run: string }) =>
  readEvents(`${url}/threads/${thread}/runs/${run}/stream`, how);

export async function readEvents(url: string, { after, cutAfter, forMs }: Reading): Promise<Read> {
  const frames: Frame[] = [];
  const parser = createParser({
    onEvent: ({ id = "", event = "", data }) => void frames.push({ id, event, data }),
  });
  const abort = new AbortController();
  let silence = setTimeout(() => abort.abort(), SILENCE_MS);
  const over = forMs === undefined ? undefined : setTimeout(() => abort.abort(), forMs);
  try {
    const response = await fetch(url, {
      headers: { "last-event-id": String(after) },
      signal: abort.signal,
    });
    if (response.status === 404) return { frames, ended: true };
    if (!response.ok || !response.body) return { frames, ended: false };
    const decoder = new TextDecoder();
    let received = 0;
    for await (const chunk of response.body) {
      clearTimeout(silence);
      silence = setTimeout(() => abort.abort(), SILENCE_MS);
      received += chunk.length;
      const allowed = received > cutAfter ? chunk.subarray(0, chunk.length - (received - cutAfter)) : chunk;
      parser.feed(decoder.decode(allowed, { stream: true }));
      if (received > cutAfter) {
        abort.abort();
        return { frames, ended: false };
      }
    }
    return { frames, ended: true };
  } catch {
    return { frames, ended: false };
  } finally {
    clearTimeout(silence);
    clearTimeout(over);
  }
}
