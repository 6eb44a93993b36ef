// Sends one webhook to a URL outside. The name is looked up once, and the connection goes to the addresses that were
// found and judged, so a second answer of the name's server changes nothing. Redirects are not followed.
import { lookup as lookUp } from "node:dns/promises";
import { Agent as HttpAgent, type IncomingMessage, request as requestHttp } from "node:http";
import { Agent as HttpsAgent, request as requestHttps } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { RequestFilteringHttpAgent, RequestFilteringHttpsAgent } from "request-filtering-agent";
import { type Allowed, hostOf, isAllowed } from "./target.ts";

/** Of an answer's body: it says nothing to us, but a receiver may want to see it read. */
const MAX_ANSWER_BYTES = 64 * 1024;

export interface Posted {
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Refuse all addresses but those of the internet, before they connect. */
const GUARDED = { http: new RequestFilteringHttpAgent(), https: new RequestFilteringHttpsAgent() };
const OPEN = { http: new HttpAgent(), https: new HttpsAgent() };

/** The answer's status. @throws when there is none, or the address is refused */
export async function post(url: URL, { body, headers, signal }: Posted, allowed: Allowed): Promise<number> {
  const host = hostOf(url);
  const addresses = await unlessAborted(resolve(host), signal);
  const agents = isAllowed(
    allowed,
    host,
    addresses.map(({ address }) => address),
  )
    ? OPEN
    : GUARDED;
  const found: LookupFunction = (_name, options, callback) => {
    if (options.all) callback(null, addresses);
    else callback(null, addresses[0]?.address ?? "", addresses[0]?.family);
  };
  const secure = url.protocol === "https:";
  const { promise, resolve: answer, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (secure ? requestHttps : requestHttp)(url, {
    method: "POST",
    agent: secure ? agents.https : agents.http,
    headers: { ...headers, "content-length": Buffer.byteLength(body) },
    lookup: found,
    signal,
  });
  request.on("response", answer).on("error", reject).end(body);
  const response = await promise;
  await readSome(response);
  return response.statusCode ?? 0;
}

async function resolve(host: string): Promise<{ address: string; family: number }[]> {
  const family = isIP(host);
  return family === 0 ? lookUp(host, { all: true }) : [{ address: host, family }];
}

/** The status has come; what is wrong with the rest does not matter. */
async function readSome(response: IncomingMessage): Promise<void> {
  let read = 0;
  try {
    for await (const chunk of response) {
      read += (chunk as Buffer).length;
      if (read > MAX_ANSWER_BYTES) break;
    }
  } catch {
    response.destroy();
  }
}

/** A lookup cannot be stopped, but it need not be waited for. */
async function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted();
  const { promise, reject } = Promise.withResolvers<never>();
  const stop = () => reject(signal.reason);
  signal.addEventListener("abort", stop, { once: true });
  try {
    return await Promise.race([work, promise]);
  } finally {
    signal.removeEventListener("abort", stop);
  }
}
