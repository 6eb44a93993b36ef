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

/** Sends pages of events until they end, as `sendTexts` does. */
export function sendEvents(
  request: FastifyRequest,
  reply: FastifyReply,
  pages: AsyncIterable<readonly FollowedEvent[]>,
  signals: StreamSignals,
): Promise<void> {
  return sendTexts(request, reply, toTexts(pages), signals);
}

async function* toTexts(pages: AsyncIterable<readonly FollowedEvent[]>): AsyncGenerator<string> {
  for await (const page of pages) yield page.map(toFrame).join("");
}

/** How texts go over a connection, and what is said between them. */
interface StreamForm {
  readonly contentType: string;
  readonly heartbeat: string;
  /** Tells the client, when the server stops, to connect again. */
  readonly hint: string;
}

export const SERVER_SENT_EVENTS: StreamForm = {
  contentType: "text/event-stream",
  heartbeat: ": heartbeat\n\n",
  hint: `retry: ${RETRY_MS}\n\n`,
};

/** Has nothing between its lines: what is kept of it are the lines alone. */
export const JSON_LINES: StreamForm = { contentType: "application/jsonl", heartbeat: "", hint: "" };

interface StreamSignals {
  readonly signal: AbortSignal;
  readonly draining: AbortSignal;
}

/**
 * Sends texts of whole frames until they end. When `signal` aborts, or the texts cannot be read, the connection is broken:
 * a stream that ends in good order would tell the client that the run has ended. It connects again, with Last-Event-ID.
 */
export async function sendTexts(
  request: FastifyRequest,
  reply: FastifyReply,
  texts: AsyncIterable<string>,
  { signal, draining }: StreamSignals,
  form: StreamForm = SERVER_SENT_EVENTS,
): Promise<void> {
  const raw = openStream(reply, form.contentType);
  // Nothing follows; what is sent next on the connection would wait for an end that may never come.
  if (request.method === "HEAD") {
    raw.end();
    return;
  }
  raw.flushHeaders();
  const hint = () => raw.write(form.hint);
  draining.addEventListener("abort", hint, { once: true });
  const heartbeat = setInterval(() => raw.write(form.heartbeat), HEARTBEAT_MS);
  try {
    for await (const text of texts) {
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
