import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { post } from "./post.ts";
import { toAllowed } from "./target.ts";

let server: Server;
let port: number;
let reached = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    reached++;
    if (request.url === "/hang") return;
    if (request.url === "/endless") {
      response.writeHead(200);
      const write = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", write);
      write();
      return;
    }
    if (request.url === "/away") response.writeHead(307, { location: `http://127.0.0.1:${port}/` });
    response.end("thanks");
  });
  await new Promise<void>((resolve) => server.listen(0, "::", resolve));
  port = (server.address() as AddressInfo).port;
});

afterAll(() => {
  server.closeAllConnections();
  server.close();
});

const send = (host: string, allow: string[], path = "/", signal = AbortSignal.timeout(5_000)) =>
  post(new URL(`http://${host}:${port}${path}`), { body: "{}", headers: {}, signal }, toAllowed(allow));

describe("a connection", () => {
  it.each([
    "127.0.0.1",
    "127.1",
    "2130706433",
    "0x7f.1",
    "0.0.0.0",
    "[::1]",
    "[::]",
    "[::ffff:127.0.0.1]",
    // A name is judged by its addresses.
    "localhost",
    "localhost.",
  ])("to %s is not made", async (host) => {
    const before = reached;
    await expect(send(host, [])).rejects.toThrow("is not allowed");
    expect(reached).toBe(before);
  });

  it.each([
    ["127.0.0.1", "127.0.0.1"],
    ["127.0.0.1", "127.0.0.0/8"],
    ["[::1]", "::1"],
    ["[::ffff:127.0.0.1]", "127.0.0.1"],
    ["localhost", "localhost"],
  ])("to %s is made when %s is allowed", async (host, allow) => {
    expect(await send(host, [allow])).toBe(200);
  });

  it("to a name is not made when only one of its addresses is allowed", async () => {
    const found = await import("node:dns/promises").then(({ lookup }) => lookup("localhost", { all: true }));
    const others = found.some(({ address }) => address !== "127.0.0.1");
    const result = send("localhost", ["127.0.0.1"]);
    if (others) await expect(result).rejects.toThrow("is not allowed");
    else expect(await result).toBe(200);
  });
});

describe("an answer", () => {
  it("that redirects is the answer: nothing is followed", async () => {
    const before = reached;
    expect(await send("127.0.0.1", ["127.0.0.1"], "/away")).toBe(307);
    expect(reached).toBe(before + 1);
  });

  it("that does not end is read no further than needed", async () => {
    expect(await send("127.0.0.1", ["127.0.0.1"], "/endless")).toBe(200);
  });

  it("that does not come is waited for as long as the signal says", async () => {
    await expect(send("127.0.0.1", ["127.0.0.1"], "/hang", AbortSignal.timeout(100))).rejects.toThrow(
      /abort|timeout/i,
    );
  });

  it("is not waited for when it is stopped before", async () => {
    await expect(send("localhost", ["localhost"], "/", AbortSignal.abort())).rejects.toThrow(/abort/i);
  });
});
