// A receiver of webhooks on this machine: keeps what it gets, and answers as it is told.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  readonly body: Record<string, unknown>;
}

type Answer = (response: ServerResponse) => void;

const taken: Answer = (response) => void response.writeHead(204).end();

export async function startReceiver() {
  const received: Received[] = [];
  const answers: Answer[] = [];
  const server = createServer(async (request, response) => {
    let text = "";
    for await (const chunk of request) text += chunk;
    received.push({ path: request.url ?? "", headers: request.headers, text, body: JSON.parse(text) });
    (answers.shift() ?? taken)(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    received,
    /** Its next answers; after them it takes everything. */
    answer: (...next: Answer[]) => void answers.push(...next),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

export type Receiver = Awaited<ReturnType<typeof startReceiver>>;

/** An answer that is only a status. */
export const status =
  (code: number, headers = {}): Answer =>
  (response) =>
    void response.writeHead(code, headers).end();
