// The way of this process's own code to the API: a graph's `new Client()` without address finds it, and so does what is
// to be sent to a relative path. It is a request as any other: it needs credentials where others do, unless the server
// itself knows for whom it sends it.
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { FastifyInstance } from "fastify";
import type { Access } from "../auth/access.ts";
import { sendInProcess } from "./in-process.ts";
import { markSender } from "./known-sender.ts";

type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>;

export interface Loopback {
  /** Sends requests to this server, for somebody whose rights are known. Of an address only path and query count. */
  readonly fetchAs: (access: Access | undefined) => Fetch;
  /** From now on the SDK's clients without an address reach this server. */
  open(app: FastifyInstance): void;
  close(): void;
}

// The names under which the LangGraph SDK looks for the server that it runs in.
const FETCH = Symbol.for("langgraph_api:fetch");
const URL_OF_SERVER = Symbol.for("langgraph_api:url");

interface Place {
  readonly fetch: Fetch;
  url: string | undefined;
}
type Global = typeof globalThis & {
  [FETCH]?: Fetch;
  [URL_OF_SERVER]?: string;
  /** The open servers of this process: the last one is found. */
  [OPEN]?: Place[];
};
const OPEN = Symbol.for("heddle:loopbacks");

export function createLoopback(): Loopback {
  let app: FastifyInstance | undefined;
  const fetchAs: Loopback["fetchAs"] = (access) => async (input, init) => {
    if (!app) throw new Error("The server does not listen yet, or not any more.");
    await app.ready();
    const address = input instanceof Request ? input : new URL(input, "http://localhost");
    const request = new Request(address, { ...init, ...(init?.body ? { duplex: "half" } : {}) });
    const { pathname, search } = new URL(request.url);
    const { method, headers, body, signal } = request;
    const stream = body && Readable.fromWeb(body as ReadableStream<Uint8Array>);
    return sendInProcess(
      app.server,
      { method, path: pathname + search, headers, body: stream, signal },
      (socket) => markSender(socket, { access, passedOn: false }),
    );
  };
  const place: Place = { fetch: fetchAs(undefined), url: undefined };
  return {
    fetchAs,
    open(opened) {
      app = opened;
      show([...shown(), place]);
      opened.addHook("onListen", async () => {
        place.url = opened.listeningOrigin;
        show(shown());
      });
    },
    close() {
      app = undefined;
      show(shown().filter((other) => other !== place));
    },
  };
}

const shown = (): Place[] => (globalThis as Global)[OPEN] ?? [];

function show(places: Place[]): void {
  const names = globalThis as Global;
  const last = places.at(-1);
  names[OPEN] = places;
  if (last) names[FETCH] = last.fetch;
  else delete names[FETCH];
  if (last?.url) names[URL_OF_SERVER] = last.url;
  else delete names[URL_OF_SERVER];
}
