// The thread protocol over a WebSocket: subscriptions, commands, order, limits and closing.
import { connect } from "node:net";
import path from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { endOf, isEnd, openSocket, openStream, type Socket } from "../helpers/protocol.ts";
import { human } from "../helpers/sdk.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/protocol/langgraph.json");

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
});
afterAll(() => heddle.close());

const words = (...list: string[]) => ({ words: list });
const ends = (count: number) => (socket: Socket) => socket.frames().filter(isEnd).length >= count;
const EVERYTHING = [
  "values",
  "updates",
  "messages",
  "tools",
  "lifecycle",
  "input",
  "checkpoints",
  "tasks",
  "custom",
];

async function replay(threadId: string, runs: number) {
  const stream = await openStream(heddle.url, threadId);
  const frames = await stream.until(endOf(runs));
  stream.close();
  return frames;
}

describe("a socket", () => {
  it("sends what is subscribed to, from before the first run, over several runs, as SSE does", async () => {
    const threadId = crypto.randomUUID();
    const socket = await openSocket(heddle.url, threadId);
    const subscribed = await socket.send("subscription.subscribe", { channels: EVERYTHING });
    expect(subscribed).toMatchObject({ type: "success", result: { subscription_id: expect.any(String) } });
    for (const run of [1, 2]) {
      const started = await socket.send("run.start", { assistant_id: "agent", input: human(`go ${run}`) });
      expect(started).toMatchObject({ type: "success", result: { run_id: expect.any(String) } });
      await socket.until(ends(run));
    }
    expect(socket.frames()).toEqual(await replay(threadId, 2));
    socket.close();
  });

  it("answers a subscription before it replays, and sends each frame once, whoever wants it", async () => {
    const threadId = crypto.randomUUID();
    const socket = await openSocket(heddle.url, threadId);
    await socket.send("run.start", { assistant_id: "nested", input: words("in") });
    const all = await replay(threadId, 1);
    expect(socket.frames()).toEqual([]);

    const first = await socket.send("subscription.subscribe", { channels: ["lifecycle"] });
    await socket.until(ends(1));
    expect(socket.received.findIndex(({ type }) => type === "event")).toBeGreaterThan(
      socket.received.findIndex(({ id }) => id === first.id),
    );
    expect(socket.frames()).toEqual(all.filter(({ method }) => method === "lifecycle"));

    // A second one gets what was before it, the first one nothing again but what both want.
    const before = socket.received.length;
    await socket.send("subscription.subscribe", { channels: ["values"], namespaces: [["middle"]] });
    const wanted = all.filter(({ method, params }) => method === "values" && params.namespace.length > 0);
    await socket.until(({ received }) => received.length === before + 1 + wanted.length);
    expect(socket.received.slice(before + 1)).toEqual(wanted);

    await socket.send("run.start", { assistant_id: "nested", input: words("again") });
    await socket.until(ends(2));
    const again = (await replay(threadId, 2)).slice(all.length);
    const expected = again.filter(
      ({ method, params }) => method === "lifecycle" || (method === "values" && params.namespace.length > 0),
    );
    expect(socket.frames().slice(-expected.length)).toEqual(expected);
    socket.close();
  });

  it("takes a subscription in the middle of a run without a gap", async () => {
    const threadId = crypto.randomUUID();
    const socket = await openSocket(heddle.url, threadId);
    await socket.send("subscription.subscribe", { channels: ["lifecycle", "custom"] });
    const gate = crypto.randomUUID();
    await socket.send("run.start", { assistant_id: "waits", input: { ...words("in"), gate } });
    await socket.until(({ frames }) => frames().some(({ method }) => method === "custom"));
    await gateReached(gate);
    await socket.send("subscription.subscribe", { channels: ["values", "lifecycle"] });
    openGate(gate);
    await socket.until(ends(1));
    const all = await replay(threadId, 1);
    const values = all.filter(({ method }) => method === "values");
    expect(socket.frames().filter(({ method }) => method === "values")).toEqual(values);
    expect(new Set(socket.frames().map(({ event_id }) => event_id)).size).toBe(
      all.filter(({ method }) => ["values", "lifecycle", "custom"].includes(method)).length,
    );
    socket.close();
  });

  it("sends nothing any more for a subscription that has ended", async () => {
    const threadId = crypto.randomUUID();
    const socket = await openSocket(heddle.url, threadId);
    const { result } = await socket.send("subscription.subscribe", { channels: ["values"] });
    await socket.send("subscription.subscribe", { channels: ["lifecycle"] });
    await socket.send("subscription.unsubscribe", result);
    expect((await socket.send("subscription.unsubscribe", result)).error).toBe("no_such_subscription");
    await socket.send("run.start", { assistant_id: "writes", input: words("in") });
    await socket.until(ends(1));
    expect(socket.frames().map(({ method }) => method)).toEqual(["lifecycle", "lifecycle"]);
    socket.close();
  });

  it("carries every command", async () => {
    const threadId = crypto.randomUUID();
    const socket = await openSocket(heddle.url, threadId);
    await socket.send("subscription.subscribe", { channels: ["lifecycle", "input", "values"] });
    await socket.send("run.start", { assistant_id: "asks", input: words("in") });
    await socket.until(ends(1));
    const request = socket.frames().find(({ method }) => method === "input.requested");
    const { interrupt_id } = request?.params.data ?? {};
    expect(await socket.send("input.respond", { interrupt_id, response: "so" })).toMatchObject({
      result: {},
    });
    await socket.until(ends(2));
    expect((await socket.send("state.get")).result.values.words).toContain("answered so");
    expect((await socket.send("agent.getTree")).result.tree.status).toBe("completed");
    expect((await socket.send("subscription.reconnect")).error).toBe("not_supported");
    expect((await socket.send("subscription.subscribe", { channels: ["rumours"] })).error).toBe(
      "invalid_argument",
    );
    expect((await socket.send("subscription.subscribe", { channels: [] })).error).toBe("invalid_argument");
    socket.close();
  });

  it("tells what is no command with id null, and goes on", async () => {
    const socket = await openSocket(heddle.url, crypto.randomUUID());
    const texts = [
      "{",
      "[]",
      '"x"',
      '{"id":-1,"method":"x"}',
      '{"id":1}',
      `{"id":1,"method":"x","params":{"a":"\\u0000"}}`,
    ];
    for (const text of texts) socket.sendText(text);
    await socket.until(({ received }) => received.length === texts.length);
    expect(socket.received.map(({ type, id, error }) => [type, id, error])).toEqual(
      texts.map(() => ["error", null, "invalid_argument"]),
    );
    expect((await socket.send("state.get")).error).toBe("no_such_run");
    socket.close();
  });

  it("is closed with 4422 for a thread id that is none", async () => {
    const socket = await openSocket(heddle.url, "no-uuid");
    expect((await socket.closed).code).toBe(4422);
  });

  it("is no HTTP route", async () => {
    const response = await fetch(`${heddle.url}/threads/${crypto.randomUUID()}/stream/events`);
    expect(response.status).toBe(404);
  });

  it("lets go of everything when its client goes", async () => {
    const threadId = crypto.randomUUID();
    const socket = await openSocket(heddle.url, threadId);
    await socket.send("subscription.subscribe", { channels: ["values"] });
    const gate = crypto.randomUUID();
    await socket.send("run.start", { assistant_id: "waits", input: { ...words("in"), gate } });
    await gateReached(gate);
    socket.close();
    await socket.closed;
    openGate(gate);
    const frames = await replay(threadId, 1);
    expect(frames.at(-1)?.params.data.event).toBe("completed");
    await expect.poll(() => heddle.app.server.websocketServer.clients.size).toBe(0);
  });

  it("waits for a client that does not read, and does not fill its memory", async () => {
    const threadId = crypto.randomUUID();
    const { hostname, port } = new URL(heddle.url);
    const raw = connect(Number(port), hostname);
    const key = Buffer.from(crypto.randomUUID()).toString("base64").slice(0, 22);
    raw.write(
      `GET /threads/${threadId}/stream/events HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: websocket\r\n` +
        `sec-websocket-version: 13\r\nsec-websocket-key: ${key}==\r\n\r\n`,
    );
    const [head] = await new Promise<[Buffer]>((resolve) => raw.once("data", (data) => resolve([data])));
    expect(String(head)).toContain("101 Switching Protocols");
    raw.pause();
    const text = JSON.stringify({
      id: 1,
      method: "subscription.subscribe",
      params: { channels: ["custom"] },
    });
    const mask = Buffer.from([1, 2, 3, 4]);
    const payload = Buffer.from(text).map((byte, place) => byte ^ (mask[place % 4] ?? 0));
    raw.write(Buffer.concat([Buffer.from([0x81, 0x80 | payload.length]), mask, payload]));
    const other = await openSocket(heddle.url, threadId);
    await other.send("subscription.subscribe", { channels: ["lifecycle"] });
    await other.send("run.start", { assistant_id: "floods", input: words("in") });
    await other.until(ends(1));
    // Sixteen mebibytes were sent; the client that reads nothing is held up where its socket is full.
    const [server] = [...heddle.app.server.websocketServer.clients].filter((one) => one.bufferedAmount > 0);
    expect(server?.bufferedAmount).toBeGreaterThan(0);
    expect(server?.bufferedAmount).toBeLessThan(1024 * 1024);
    raw.destroy();
    other.close();
  });
});

it("closes its sockets when it stops, so that their clients connect again", async () => {
  const app = await startApp({ beside: heddle, graphs });
  const socket = await openSocket(app.url, crypto.randomUUID());
  await socket.send("subscription.subscribe", { channels: ["values"] });
  await app.close();
  expect((await socket.closed).code).toBe(1012);
});

describe("an upgrade", () => {
  /** The status line of the answer to an upgrade by hand. */
  const upgrade = async (route: string, to: string) => {
    const { hostname, port } = new URL(heddle.url);
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    const socket = connect(Number(port), hostname, () =>
      socket.write(
        `GET ${route} HTTP/1.1\r\nhost: x\r\nconnection: upgrade\r\nupgrade: ${to}\r\n` +
          "sec-websocket-version: 13\r\nsec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n",
      ),
    );
    socket.once("data", (data) => resolve(String(data).split("\r\n")[0] ?? ""));
    socket.once("error", reject);
    const line = await promise;
    socket.destroy();
    return line;
  };
  const events = () => `/threads/${crypto.randomUUID()}/stream/events`;

  it("to a WebSocket is refused where there is none", async () => {
    expect(await upgrade(events(), "websocket")).toBe("HTTP/1.1 101 Switching Protocols");
    for (const route of ["/info", `/threads/${crypto.randomUUID()}`, "/nowhere"]) {
      expect(await upgrade(route, "websocket"), route).toBe("HTTP/1.1 404 Not Found");
    }
  });

  it("to something else is left aside", async () => {
    expect(await upgrade("/info", "h2c")).toBe("HTTP/1.1 200 OK");
  });
});
