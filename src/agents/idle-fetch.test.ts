import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { createIdleFetch } from "./idle-fetch.ts";

/** An endpoint on the loopback interface; `answer` may end the response, or leave it hanging. */
async function serve(answer: (response: ServerResponse) => void): Promise<string> {
  const server = createServer((_request, response) => answer(response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

const BRIEF = 50;
const AMPLE = 20_000;

test("an answer arrives whole, with its status and headers", async () => {
  const url = await serve((response) => {
    response.writeHead(201, { "x-name": "ann" });
    response.write("one ");
    response.end("two");
  });
  const response = await createIdleFetch(AMPLE)(url);
  expect([response.status, response.headers.get("x-name"), await response.text()]).toEqual([
    201,
    "ann",
    "one two",
  ]);
});

test("an endpoint that never answers is given up", async () => {
  const url = await serve(() => undefined);
  await expect(createIdleFetch(BRIEF)(url)).rejects.toMatchObject({ name: "TimeoutError" });
});

test("an endpoint that falls silent in the middle of its answer is given up", async () => {
  const url = await serve((response) => void response.write("half"));
  const response = await createIdleFetch(BRIEF)(url);
  await expect(response.text()).rejects.toMatchObject({ name: "TimeoutError" });
});

test("an abort by the caller ends the wait with the caller's reason", async () => {
  const url = await serve((response) => void response.write("half"));
  const controller = new AbortController();
  const response = await createIdleFetch(AMPLE)(url, { signal: controller.signal });
  controller.abort(new Error("stopped"));
  await expect(response.text()).rejects.toThrow("stopped");
});
