// Sends a request to an HTTP server of this process over a connection in memory. It is HTTP like any other: streams,
// back-pressure, a peer that goes away. Only no port is needed, and the server can be told what the sender knows.
import { type IncomingMessage, request as openRequest, type Server } from "node:http";
import { type Duplex, duplexPair, Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { ReadableStream } from "node:stream/web";

interface OutgoingRequest {
  readonly method: string;
  /** Path and query. */
  readonly path: string;
  readonly headers: Headers;
  readonly body: Readable | Uint8Array | null;
  /** Aborts when nobody waits for the answer any more. */
  readonly signal?: AbortSignal | undefined;
  /** Of the one for whom the request is sent. */
  readonly remoteAddress?: string | undefined;
}

/** What belongs to one connection and not to the request (RFC 9110, 7.6.1). */
const OF_CONNECTION = [
  "connection",
  "keep-alive",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "expect",
];
const WITHOUT_BODY = new Set([204, 205, 304]);

/** @param onConnection gets the server's end of the connection, which its requests have as `socket` */
export async function sendInProcess(
  server: Server,
  { method, path, headers, body, signal, remoteAddress }: OutgoingRequest,
  onConnection: (socket: Duplex) => void = () => undefined,
): Promise<Response> {
  signal?.throwIfAborted();
  const [near, far] = duplexPair();
  near.once("close", () => far.destroy());
  far.once("close", () => near.destroy());
  // What is asked of a socket, and means nothing here.
  Object.assign(far, { setNoDelay: () => far, setKeepAlive: () => far, remoteAddress });
  onConnection(far);
  server.emit("connection", far);

  const sent = Object.fromEntries([...headers].filter(([name]) => !OF_CONNECTION.includes(name)));
  if (body instanceof Uint8Array) sent["content-length"] = String(body.byteLength);
  const outgoing = openRequest({ method, path, headers: sent, createConnection: () => near });
  const stop = () => near.destroy();
  signal?.addEventListener("abort", stop, { once: true });
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  outgoing.once("response", resolve);
  outgoing.on("error", reject);
  // An answer may come before all of the body is read; whether the rest arrives is then nobody's concern.
  if (body instanceof Readable) pipeline(body, outgoing).catch(reject);
  else outgoing.end(body ?? undefined);
  near.once("close", () => signal?.removeEventListener("abort", stop));
  return toResponse(await promise);
}

function toResponse(incoming: IncomingMessage): Response {
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    if (!OF_CONNECTION.includes(name)) for (const value of values) headers.append(name, value);
  }
  const status = incoming.statusCode ?? 500;
  // Read it in any case: the connection ends only then.
  const body = WITHOUT_BODY.has(status) ? incoming.resume() && null : Readable.toWeb(incoming);
  return new Response(body as ReadableStream<Uint8Array> | null, {
    status,
    statusText: incoming.statusMessage ?? "",
    headers,
  });
}
