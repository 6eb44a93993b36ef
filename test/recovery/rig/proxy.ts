// A TCP proxy that does to connections what networks do: it cuts them after some bytes, swallows what is sent, or stops
// in both directions without a word. Stands between a server and PostgreSQL, or between a client and a server.
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";

export interface TcpProxy {
  readonly port: number;
  /** Connections that are open now. */
  size(): number;
  /** Cuts every connection, those to come as well, when the upstream has answered so many bytes more; once each. */
  cutAfter(bytes: number): void;
  /** Loses each answer to a statement with this text, and the connection with it, until `heal`. */
  loseAnswersTo(text: string): void;
  /** Lets connections stay open and carries nothing; new ones are accepted and hear nothing either. */
  swallow(): void;
  /** What is open carries nothing any more and is not cut either; new connections are served. */
  forget(): void;
  /** Cuts what is open. Whoever connects again is served. */
  heal(): void;
  /** Connections from now on go to another port; those that are open are cut. */
  redirect(upstreamPort: number): void;
  close(): Promise<void>;
}

interface Pair {
  readonly client: Socket;
  readonly upstream: Socket;
  /** Bytes of the upstream that are still carried. */
  left: number;
  isForgotten: boolean;
}

/** The name of a statement (src/db/database.ts gives it a hash) and its text, in the message that prepares it. */
const PREPARES = /([\w+/]{43}=)\0([^\0]+)\0/g;

export async function startProxy(firstPort: number): Promise<TcpProxy> {
  const pairs = new Set<Pair>();
  let upstreamPort = firstPort;
  let isSwallowing = false;
  let leftForNew = Number.POSITIVE_INFINITY;
  /** Prepared statements: a connection carries their text once, after that their name. */
  const prepared = new Map<string, string>();
  let lost: string | undefined;

  const isLost = (chunk: Buffer): boolean => {
    const sent = chunk.toString("latin1");
    for (const [, name = "", text = ""] of sent.matchAll(PREPARES)) prepared.set(name, text);
    const sought = lost;
    if (sought === undefined) return false;
    const isSent = (name: string, text: string) => text.includes(sought) && sent.includes(`\0${name}\0`);
    return sent.includes(sought) || [...prepared].some(([name, text]) => isSent(name, text));
  };

  const server = createServer((client) => {
    const upstream = connect(upstreamPort, "127.0.0.1");
    const pair: Pair = { client, upstream, left: leftForNew, isForgotten: false };
    pairs.add(pair);
    const end = () => {
      pairs.delete(pair);
      client.destroy();
      upstream.destroy();
    };
    for (const socket of [client, upstream]) {
      socket.setNoDelay(true);
      socket.on("error", end);
      socket.on("close", end);
    }
    client.on("data", (chunk) => {
      if (isLost(chunk)) pair.left = 0;
      if (!isSwallowing && !pair.isForgotten) upstream.write(chunk);
    });
    upstream.on("data", (chunk) => {
      if (isSwallowing || pair.isForgotten) return;
      // What the upstream has done is done: only the news of it is lost.
      client.write(chunk.subarray(0, pair.left));
      pair.left -= chunk.length;
      if (pair.left <= 0) end();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the proxy has no port");

  const cutAll = () => {
    for (const { client, upstream } of pairs) {
      client.destroy();
      upstream.destroy();
    }
    pairs.clear();
  };
  return {
    port: address.port,
    size: () => pairs.size,
    cutAfter(bytes) {
      leftForNew = bytes;
      for (const pair of pairs) pair.left = bytes;
    },
    loseAnswersTo(text) {
      lost = text;
    },
    swallow() {
      isSwallowing = true;
    },
    forget() {
      for (const pair of pairs) pair.isForgotten = true;
    },
    heal() {
      isSwallowing = false;
      lost = undefined;
      leftForNew = Number.POSITIVE_INFINITY;
      cutAll();
    },
    redirect(port) {
      upstreamPort = port;
      cutAll();
    },
    async close() {
      cutAll();
      server.close();
      await once(server, "close");
    },
  };
}
