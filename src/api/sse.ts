// Server-sent events: frames of the event log onto a connection. Waits for a slow reader instead of buffering for it,
// and says that it is alive when there is nothing to send.
import { once } from "node:events";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { FollowedEvent } from "../events/follow.ts";

/** The SDK takes a stream for dead after three missed heartbeats, once it has seen two. */
const HEARTBEAT_MS = 5_000;
/** How soon a client is to connect again when its stream is broken off because the server stops. */
const RETRY_MS = 500;

/** Aborts when the client has gone or the server stops. */
export function untilGone(reply: FastifyReply, stopping: AbortSignal): AbortSignal {
  const gone = new AbortController();
  reply.raw.once("close", () => gone.abort());
  return AbortSignal.any([gone.signal, stopping]);
}

/**
 * Sends pages of events until they end. When `signal` aborts, or the pages cannot be read, the connection is broken: a
 * stream that ends in good order would tell the client that the run has ended. It connects again, with Last-Event-ID.
 */
export async function sendEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  pages: AsyncIterable<readonly FollowedEvent[]>,
  { signal, draining }: { signal: AbortSignal; draining: AbortSignal },
): Promise<void> {
  const raw = openStream(reply, "text/event-stream");
  raw.flushHeaders();
  const hint = () => raw.write(`retry: ${RETRY_MS}\n\n`);
  draining.addEventListener("abort", hint, { once: true });
  const heartbeat = setInterval(() => raw.write(": heartbeat\n\n"), HEARTBEAT_MS);
  try {
    for await (const page of pages) {
      const text = page.map(toFrame).join("");
      if (!raw.write(text) && !signal.aborted) await once(raw, "drain", { signal });
      heartbeat.refresh();
    }
    if (!signal.aborted) raw.end();
  } catch (error) {
    if (!signal.aborted) request.log.error(error, "stream broke off");
  } finally {
    clearInterval(heartbeat);
    draining.removeEventListener("abort", hint);
    if (!raw.writableEnded) raw.destroy();
  }
}

/**
 * Sends one JSON value as soon as it is there, and white space until then, so that no proxy between gives up.
 * The status line is 200 from the start; a failure is told in the value. A rejected value breaks the connection.
 */
export async function sendWhenReady(reply: FastifyReply, value: Promise<string>): Promise<void> {
  const raw = openStream(reply, "application/json");
  raw.flushHeaders();
  const heartbeat = setInterval(() => raw.write("\n"), HEARTBEAT_MS);
  try {
    raw.end(await value);
  } catch {
    // Half an answer must not look like a whole one: the client sees a broken connection.
    raw.destroy();
  } finally {
    clearInterval(heartbeat);
  }
}

function openStream(reply: FastifyReply, contentType: string) {
  reply.hijack();
  const { raw } = reply;
  raw.socket?.setNoDelay(true);
  // What plugins have set on the reply (CORS) is not sent by itself after a hijack.
  for (const [name, value] of Object.entries(reply.getHeaders()))
    if (value !== undefined) raw.setHeader(name, value);
  raw.setHeader("content-type", contentType);
  raw.setHeader("cache-control", "no-cache");
  raw.setHeader("x-accel-buffering", "no");
  raw.writeHead(200);
  return raw;
}

// data is one line of JSON. The event's name ends with names of nodes, which a graph's author may write as he likes.
const toFrame = ({ seq, event, data }: FollowedEvent) =>
  `event: ${event.replaceAll(/[\r\n]/g, " ")}\ndata: ${data}\n${seq === undefined ? "" : `id: ${seq}\n`}\n`;

/**
 * The seq after which to go on; -1 is the start, which is what SDKs mean by "-1". What is no such number is the start as
 * well; `follow` treats a number that the run does not have in the same way. Without the header: only what is new.
 */
export function parseLastEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const text = String(header).trim();
  return /^\d{1,9}$/.test(text) ? Number(text) : -1;
}
