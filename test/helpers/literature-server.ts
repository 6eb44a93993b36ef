// OpenAlex and arXiv on this machine: recorded answers, and the faults that a test asks for.
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { ARXIV, OPENALEX } from "../fixtures/research/recorded-answers.ts";

type Answer = (response: ServerResponse) => void;

export const answerWith =
  (body: string, status = 200, headers: Record<string, string> = {}): Answer =>
  (response) =>
    void response.writeHead(status, headers).end(body);
/** Never answers. */
export const silence: Answer = () => undefined;
/** Begins an answer and breaks off. */
export const half: Answer = (response) => {
  response.writeHead(200, { "content-length": "1000" });
  response.write('{"results": [');
  setImmediate(() => response.destroy());
};

export async function startLiterature() {
  const requests: { readonly url: URL; readonly userAgent: string | undefined }[] = [];
  const next: Answer[] = [];
  let isHeld: (url: URL) => boolean = () => false;
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "/", "http://localhost");
    requests.push({ url, userAgent: request.headers["user-agent"] });
    if (isHeld(url)) return;
    const recorded = url.pathname === "/works" ? OPENALEX : ARXIV;
    (next.shift() ?? answerWith(recorded))(response);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    /** Its next answers; after them the recorded ones. */
    answer: (...answers: readonly Answer[]) => void next.push(...answers),
    /** Does not answer these requests. */
    hold(which: (url: URL) => boolean) {
      isHeld = which;
    },
    /** Forgets its requests, and what it was told about later ones. */
    reset() {
      requests.length = 0;
      next.length = 0;
      isHeld = () => false;
    },
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
