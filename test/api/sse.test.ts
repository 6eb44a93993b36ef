// The stream as bytes: headers, frames, heartbeats, what a hostile text or a slow reader does to it.
import { once } from "node:events";
import { connect } from "node:net";
import { createParser, type EventSourceMessage } from "eventsource-parser";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { gateReached, openGate } from "../helpers/gates.ts";
import { human } from "../helpers/sdk.ts";

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp();
});
afterAll(() => heddle.close());
afterEach(() => {
  vi.useRealTimers();
});

interface Received {
  readonly response: Response;
  readonly text: string;
  readonly events: EventSourceMessage[];
  readonly comments: string[];
}

async function receive(response: Response): Promise<Received> {
  const text = await response.text();
  const events: EventSourceMessage[] = [];
  const comments: string[] = [];
  const parser = createParser({
    onEvent: (event) => void events.push(event),
    onComment: (comment) => void comments.push(comment),
    onError: (error) => {
      throw error;
    },
  });
  parser.feed(text);
  return { response, text, events, comments };
}

const post = (route: string, body: object) =>
  fetch(heddle.url + route, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });

describe("a stream", () => {
  it("says what it is, where the run is found, and where to go on", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const { response, events } = await receive(
      await post(`/threads/${thread_id}/runs/stream`, { assistant_id: "script", input: human("do it") }),
    );
    const { run_id } = JSON.parse(events[0]?.data ?? "{}");
    expect(response.headers.get("content-type")).toBe("text/event-stream");
    expect(response.headers.get("cache-control")).toBe("no-cache");
    expect(response.headers.get("x-accel-buffering")).toBe("no");
    expect(response.headers.get("content-location")).toBe(`/threads/${thread_id}/runs/${run_id}`);
    expect(response.headers.get("location")).toBe(`/threads/${thread_id}/runs/${run_id}/stream`);
  });

  it("numbers its events from 0, without a gap, and ends when the run's status is final", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const { events } = await receive(
      await post(`/threads/${thread_id}/runs/stream`, {
        assistant_id: "script",
        input: human("say abc"),
        stream_mode: ["values", "messages-tuple"],
      }),
    );
    expect(events.map((event) => event.id)).toEqual(events.map((_, index) => String(index)));
    const [run] = await heddle.client.runs.list(thread_id);
    expect(run?.status).toBe("success");
  });

  it("carries any text without breaking its frames", async () => {
    const hostile = "do \r\n\r\nevent: error\r\ndata: {}\n\nid: 999\u2028\u2029\u0085 end";
    const { events, text } = await receive(
      await post("/runs/stream", { assistant_id: "script", input: human(hostile), stream_mode: "values" }),
    );
    expect(events.map((event) => event.event)).toEqual(["metadata", "values", "values"]);
    expect(JSON.parse(events[1]?.data ?? "{}").messages[0].content).toBe(hostile);
    expect(text).not.toContain("\r");
  });

  it("is the same, byte for byte, to whoever reads it again", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const first = await receive(
      await post(`/threads/${thread_id}/runs/stream`, {
        assistant_id: "script",
        input: human("say abcdef"),
        stream_mode: ["messages-tuple", "values"],
      }),
    );
    const again = await receive(
      await fetch(heddle.url + (first.response.headers.get("location") ?? ""), {
        headers: { "last-event-id": "-1" },
      }),
    );
    expect(again.text).toBe(first.text);
    const rest = await receive(
      await fetch(heddle.url + (first.response.headers.get("location") ?? ""), {
        headers: { "last-event-id": "2" },
      }),
    );
    expect(first.text.endsWith(rest.text)).toBe(true);
    expect(rest.events[0]?.id).toBe("3");
  });

  it("says that it lives while there is nothing to say", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const response = await post("/runs/stream", { assistant_id: "script", input: human("wait heartbeat") });
    await gateReached("heartbeat");
    vi.advanceTimersByTime(15_000);
    openGate("heartbeat");
    const { comments } = await receive(response);
    expect(comments.filter((comment) => comment.trim() === "heartbeat")).toHaveLength(3);
  });

  it("that is asked for with HEAD is over at once: what comes next on the connection is answered", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const socket = connect(Number(new URL(heddle.url).port), "127.0.0.1");
    let received = "";
    socket.setEncoding("utf8").on("data", (text) => {
      received += text;
    });
    socket.write(
      `HEAD /threads/${thread_id}/stream HTTP/1.1\r\nhost: x\r\n\r\nGET /ok HTTP/1.1\r\nhost: x\r\n\r\n`,
    );
    await expect.poll(() => received).toContain('{"ok":true}');
    expect(received).toMatch(/^HTTP\/1\.1 200 OK\r\n.*text\/event-stream/s);
    socket.destroy();
  });

  it("to a reader that does not read does not hold up the run", async () => {
    const { thread_id } = await heddle.client.threads.create();
    const body = JSON.stringify({
      assistant_id: "script",
      input: human(`say ${"x".repeat(30_000)}`),
      stream_mode: ["values", "messages-tuple"],
    });
    const { port } = new URL(heddle.url);
    const socket = connect(Number(port), "127.0.0.1");
    await once(socket, "connect");
    socket.pause();
    socket.write(
      `POST /threads/${thread_id}/runs/stream HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    );
    await expect
      .poll(async () => (await heddle.client.runs.list(thread_id))[0]?.status, { timeout: 25_000 })
      .toBe("success");
    socket.destroy();
  }, 30_000);
});

describe("waiting for a run", () => {
  it("sends white space until the answer is there", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    const response = await post("/runs/wait", { assistant_id: "script", input: human("wait patience") });
    await gateReached("patience");
    vi.advanceTimersByTime(10_000);
    openGate("patience");
    const text = await response.text();
    expect(text).toMatch(/^\n\n\{/);
    expect(JSON.parse(text).messages[1].content).toBe("1 waited");
  });
});
