// The proxy does what its name promises: a scenario whose network never broke would prove nothing.
import { once } from "node:events";
import { connect, createServer, type Server, type Socket } from "node:net";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startProxy, type TcpProxy } from "./proxy.ts";

let echo: Server;
let proxy: TcpProxy;
const heard: string[] = [];

beforeEach(async () => {
  heard.length = 0;
  echo = createServer((socket) => {
    socket.on("error", () => undefined);
    socket.on("data", (chunk) => {
      heard.push(chunk.toString());
      socket.write(chunk);
    });
  }).listen(0, "127.0.0.1");
  await once(echo, "listening");
  const address = echo.address();
  proxy = await startProxy(typeof address === "object" && address ? address.port : 0);
});
afterEach(async () => {
  await proxy.close();
  echo.close();
});

async function dial(): Promise<{ socket: Socket; read: () => string; closed: Promise<unknown> }> {
  const socket = connect(proxy.port, "127.0.0.1");
  let text = "";
  socket.on("error", () => undefined);
  socket.on("data", (chunk) => {
    text += chunk.toString();
  });
  const closed = new Promise((resolve) => socket.once("close", resolve));
  await once(socket, "connect");
  return { socket, read: () => text, closed };
}

it("carries both ways", async () => {
  const { socket, read } = await dial();
  socket.write("hello");
  await expect.poll(read).toBe("hello");
  expect(proxy.size()).toBe(1);
});

it("cuts in the middle of an answer: what was sent has arrived, its answer only in part", async () => {
  const { socket, read, closed } = await dial();
  proxy.cutAfter(3);
  socket.write("hello");
  await closed;
  expect(read()).toBe("hel");
  expect(heard).toEqual(["hello"]);
});

it("swallows without a word, and serves again when it is healed", async () => {
  const silent = await dial();
  await expect.poll(() => proxy.size()).toBe(1);
  proxy.swallow();
  silent.socket.write("lost");
  const during = await dial();
  during.socket.write("lost too");
  await expect.poll(() => proxy.size()).toBe(2);
  proxy.heal();
  await Promise.all([silent.closed, during.closed]);
  const after = await dial();
  after.socket.write("here");
  await expect.poll(after.read).toBe("here");
  expect(heard).toEqual(["here"]);
  expect([silent.read(), during.read()]).toEqual(["", ""]);
});

it("forgets connections for good, and serves new ones", async () => {
  const old = await dial();
  await expect.poll(() => proxy.size()).toBe(1);
  proxy.forget();
  old.socket.write("lost");
  const fresh = await dial();
  fresh.socket.write("here");
  await expect.poll(fresh.read).toBe("here");
  expect(heard).toEqual(["here"]);
  expect([old.read(), old.socket.closed]).toEqual(["", false]);
});

it("loses the answers to a statement, which it knows again by its name", async () => {
  const name = `${"a".repeat(43)}=`;
  const first = await dial();
  first.socket.write(`P....${name}\0insert into t\0`);
  await expect.poll(first.read).toContain("insert into t");
  proxy.loseAnswersTo("insert into t");
  first.socket.write("select");
  await expect.poll(first.read).toContain("select");
  first.socket.write(`B....\0${name}\0`);
  await first.closed;
  expect(heard.join("")).toContain(`\0${name}\0`);
  expect(first.read()).not.toContain(`\0${name}\0`);
  proxy.heal();
  const next = await dial();
  next.socket.write(`B....\0${name}\0`);
  await expect.poll(next.read).toContain(name);
});
