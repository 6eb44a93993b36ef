// A receiver of webhooks: it refuses some, breaks off, takes its time, and notes what has come and what it has answered.
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { json } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import type { History } from "./history.ts";
import type { Random } from "./random.ts";

export interface Receiver {
  readonly url: string;
  close(): Promise<void>;
}

/** How it treats a webhook: milliseconds that it takes, then a status; 0: it breaks the connection off. */
interface Treatment {
  readonly ms: number;
  readonly status: number;
}

/** @param failures how often one webhook is failed at most */
export async function startReceiver(history: History, random: Random, failures: number): Promise<Receiver> {
  const failed = new Map<string, number>();
  const treat = (id: string): Treatment => {
    const ms = random.chance(0.2) ? random.whole(500, 1_500) : random.whole(0, 50);
    const count = failed.get(id) ?? 0;
    if (count >= failures || !random.chance(0.3)) return { ms, status: 204 };
    failed.set(id, count + 1);
    return { ms, status: random.pick([0, 404, 500, 307]) };
  };

  const take = async (request: IncomingMessage, response: ServerResponse) => {
    const began = Date.now();
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const { run_id: run, status } = (await json(request)) as { run_id: string; status: string };
    const id = String(request.headers["webhook-id"]);
    const treatment = treat(id);
    await delay(treatment.ms, undefined, { signal: gone.signal }).catch(() => undefined);
    const answered = gone.signal.aborted ? 0 : treatment.status;
    history.add({ op: "webhook", id, run, status, began, answered });
    if (answered === 0) response.destroy();
    else response.writeHead(answered).end();
  };

  const server = createServer((request, response) => {
    take(request, response).catch(() => response.destroy());
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/told`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
