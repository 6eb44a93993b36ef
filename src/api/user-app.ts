// The project's own HTTP app (`http.app` of langgraph.json): it gets every request before our routes do, and what it has
// no answer to comes on to them. So its middleware sees, changes and refuses requests and responses of ours.
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type {} from "@fastify/websocket";
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { AppError } from "../errors.ts";
import type { UserApp } from "../graphs/load-app.ts";
import { toIncomingRequest } from "./access.ts";
import { sendInProcess } from "./in-process.ts";
import { isPassedOn, markSender } from "./known-sender.ts";

/** What a handler of the app finds in `c.env`; the first two as in Hono's server for Node. */
interface Bindings {
  readonly incoming: FastifyRequest["raw"];
  readonly outgoing: unknown;
  /** Goes on to our routes. */
  readonly next: (request: Request, body?: Passed) => Promise<Response>;
}

/** A body that the app has read; undefined as long as it is still in the request. */
interface Passed {
  readonly bytes: Uint8Array;
  readonly contentType?: string | undefined;
}

/** The part of Hono's context that is used here. */
interface HonoContext {
  readonly env?: Partial<Bindings>;
  readonly req: {
    readonly raw: Request;
    readonly bodyCache: Record<string, Promise<unknown> | undefined>;
    arrayBuffer(): Promise<ArrayBuffer>;
    formData(): Promise<FormData>;
  };
}

export function runUserApp(app: FastifyInstance, userApp: UserApp): void {
  // In Hono what no route has answered goes to this handler, and comes back through the middleware. It is the module's
  // only one, so the way on is in the request's bindings: several servers may run the same module.
  const wraps = typeof userApp.notFound === "function";
  userApp.notFound?.(async (context: unknown) => {
    const { env, req } = context as HonoContext;
    if (!env?.next) return new Response("404 Not Found", { status: 404 });
    return env.next(req.raw, await readBody(req));
  });

  app.addHook("onRequest", async (request, reply) => {
    if (isPassedOn(request)) return;
    const gone = new AbortController();
    reply.raw.once("close", () => gone.abort());
    const incoming = toWebRequest(request, gone.signal);
    let goesOn = false;
    let passed: ReadableStream | null | undefined;

    const next: Bindings["next"] = async (changed, body) => {
      // A WebSocket is opened by the route; all that the app can do is to let it, or to answer.
      if (request.ws) {
        goesOn = true;
        return new Response(null);
      }
      // The app may send what came to an open route elsewhere.
      const access = request.routeOptions.config.open ? undefined : request.access;
      const response = await sendInProcess(
        app.server,
        {
          ...toOutgoing(changed, body, changed === incoming),
          signal: gone.signal,
          remoteAddress: request.ip,
        },
        (socket) => markSender(socket, { access, passedOn: true }),
      ).catch((error: unknown) => {
        // Nobody reads it; an error would be the app's to report.
        if (gone.signal.aborted) return new Response(null, { status: 499 });
        throw error;
      });
      passed = response.body as ReadableStream | null;
      return response;
    };
    const bindings: Bindings = { incoming: request.raw, outgoing: reply.raw, next };

    // An app that is none of Hono's has no such handler: its 404 means ours, where we have a route.
    const copy = wraps || request.is404 ? undefined : incoming.clone();
    let response = await userApp.fetch(incoming, bindings);
    if (copy && response.status === 404) response = await next(copy);
    if (goesOn) return;
    return send(reply, response, passed === undefined || response.body === passed);
  });
}

/** @throws AppError invalid_request for a method or target that the Fetch standard refuses */
function toWebRequest(request: FastifyRequest, signal: AbortSignal): Request {
  const { method, raw } = request;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(raw.headersDistinct))
    for (const value of values) headers.append(name, value);
  const hasBody = headers.has("transfer-encoding") || Number(headers.get("content-length") ?? 0) > 0;
  // The Fetch standard knows no body of these.
  const body = hasBody && method !== "GET" && method !== "HEAD" ? Readable.toWeb(raw) : null;
  try {
    return new Request(toIncomingRequest(request).url, {
      method,
      headers,
      body: body as RequestInit["body"],
      signal,
      ...(body ? { duplex: "half" } : {}),
    });
  } catch (cause) {
    throw new AppError("invalid_request", "The request's method or target is not valid.", { cause });
  }
}

/** @param unchanged whether the body is the one that came, as long as it is not `read` */
function toOutgoing(request: Request, read: Passed | undefined, unchanged: boolean) {
  const { pathname, search } = new URL(request.url);
  const headers = new Headers(request.headers);
  if (read?.contentType) headers.set("content-type", read.contentType);
  if (read || !unchanged) headers.delete("content-length");
  const stream = read ? null : request.body;
  return {
    method: request.method,
    path: pathname + search,
    headers,
    body: read?.bytes ?? (stream && Readable.fromWeb(stream as ReadableStream<Uint8Array>)),
  };
}

/** The body as the app's handlers have read, and perhaps changed, it. */
async function readBody(req: HonoContext["req"]): Promise<Passed | undefined> {
  const { bodyCache } = req;
  if (bodyCache.json) return { bytes: new TextEncoder().encode(JSON.stringify(await bodyCache.json)) };
  if (bodyCache.formData) {
    const body = new Response(await req.formData());
    return { bytes: await body.bytes(), contentType: body.headers.get("content-type") ?? undefined };
  }
  return Object.keys(bodyCache).length > 0 ? { bytes: new Uint8Array(await req.arrayBuffer()) } : undefined;
}

/** @param untouched false when the app has changed the body of a route of ours: it may have another length then */
function send(reply: FastifyReply, { status, headers, body }: Response, untouched: boolean): FastifyReply {
  const isHead = reply.request.method === "HEAD";
  reply.code(status);
  for (const [name, value] of headers) {
    if (untouched || isHead || name !== "content-length") reply.header(name, value);
  }
  // Fastify counts the length of an answer to HEAD for itself, unless it is a stream.
  return reply.send(body ?? (isHead ? Readable.from([]) : undefined));
}
