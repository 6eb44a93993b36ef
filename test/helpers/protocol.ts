// Speaks the thread protocol without an SDK: commands, event streams and sockets, frame by frame.
import { createParser } from "eventsource-parser";

export interface WireFrame {
  readonly type: "event";
  readonly event_id: string;
  readonly seq: number;
  readonly method: string;
  readonly params: {
    readonly namespace: string[];
    readonly timestamp: number;
    readonly node?: string;
    // biome-ignore lint/suspicious/noExplicitAny: a test reads what it has asked for.
    readonly data: any;
  };
}

// biome-ignore lint/suspicious/noExplicitAny: as above.
export type Answer = any;

const CHANNELS = [
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

const json = { "content-type": "application/json" };

export function postCommand(
  url: string,
  threadId: string,
  method: string,
  params: unknown = {},
  headers: Record<string, string> = {},
): Promise<Answer> {
  return fetch(`${url}/threads/${threadId}/commands`, {
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify({ id: 7, method, params }),
  }).then((response) => response.json());
}

export interface FrameStream {
  readonly response: Response;
  /** All frames so far. */
  readonly frames: WireFrame[];
  /** The bytes so far, without heartbeats. */
  text(): string;
  /** Resolves with all frames when one of them is as wanted. @throws when the stream ends before */
  until(isLast: (frame: WireFrame, frames: readonly WireFrame[]) => boolean): Promise<WireFrame[]>;
  close(): void;
}

/** Opens an event stream and reads it until it is closed. */
export async function openStream(
  url: string,
  threadId: string,
  body: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<FrameStream> {
  const gone = new AbortController();
  const response = await fetch(`${url}/threads/${threadId}/stream/events`, {
    method: "POST",
    headers: { ...json, ...headers },
    body: JSON.stringify({ channels: CHANNELS, ...body }),
    signal: gone.signal,
  });
  const frames: WireFrame[] = [];
  let text = "";
  let isOver = false;
  let news = Promise.withResolvers<void>();
  const parser = createParser({
    onEvent({ event, id, data }) {
      const frame: WireFrame = JSON.parse(data);
      if (event !== frame.method || id !== frame.event_id)
        throw new Error(`a frame names itself ${event} ${id}`);
      frames.push(frame);
    },
  });
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      const part = decoder.decode(chunk, { stream: true });
      text += part;
      parser.feed(part);
      news.resolve();
      news = Promise.withResolvers();
    }
  };
  void read()
    .catch(() => undefined)
    .finally(() => {
      isOver = true;
      news.resolve();
    });
  return {
    response,
    frames,
    text: () => text.replaceAll(/: heartbeat\n\n|retry: \d+\n\n/g, ""),
    async until(isLast) {
      for (let looked = 0; ; ) {
        for (; looked < frames.length; looked++) {
          const frame = frames[looked];
          if (frame && isLast(frame, frames.slice(0, looked + 1))) return frames.slice(0, looked + 1);
        }
        if (isOver) throw new Error(`the stream has ended after ${frames.length} frames`);
        await news.promise;
      }
    },
    close: () => gone.abort(),
  };
}

/** The frame that ends a run. */
export const isEnd = ({ method, params: { namespace, data } }: WireFrame) =>
  method === "lifecycle" && namespace.length === 0 && data.event !== "running";

/** True at the `count`th end of a run. */
export const endOf = (count: number) => (_: WireFrame, frames: readonly WireFrame[]) =>
  frames.filter(isEnd).length === count;

/** A line for each frame: who says what, ids of tasks left out. */
export const toLines = (frames: readonly WireFrame[]) =>
  frames.map(({ method, params: { namespace, node, data } }) => {
    const place = namespace.map((segment) => segment.replace(/:.*/, "")).join("/");
    return [place || ".", method, node, data?.event].filter((part) => part !== undefined).join(" ");
  });

export interface Socket {
  /** All that has come, answers and frames. */
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  readonly received: any[];
  readonly frames: () => WireFrame[];
  send(method: string, params?: unknown): Promise<Answer>;
  sendText(text: string): void;
  /** Resolves when what has come is as wanted. */
  until(isThere: (socket: Socket) => boolean): Promise<void>;
  readonly closed: Promise<{ code: number; reason: string }>;
  close(): void;
}

/** Opens a WebSocket on a thread. */
export const openSocket = (url: string, threadId: string, headers: Record<string, string> = {}) =>
  openSocketAt(`${url}/threads/${threadId}/stream/events`, headers);

/** Opens any WebSocket that sends JSON. */
export async function openSocketAt(url: string, headers: Record<string, string> = {}): Promise<Socket> {
  const target = url.replace("http", "ws");
  // Node's own option: browsers cannot send headers.
  const options = { headers } as unknown as string[];
  const socket = new WebSocket(target, options);
  // biome-ignore lint/suspicious/noExplicitAny: as above.
  const received: any[] = [];
  let news = Promise.withResolvers<void>();
  let nextId = 1;
  const closed = Promise.withResolvers<{ code: number; reason: string }>();
  socket.addEventListener("message", ({ data }) => {
    received.push(JSON.parse(String(data)));
    news.resolve();
    news = Promise.withResolvers();
  });
  let ending: string | undefined;
  socket.addEventListener("close", ({ code, reason }) => {
    closed.resolve({ code, reason });
    ending = `${code} ${reason}`;
    news.resolve();
  });
  const opened = Promise.withResolvers<void>();
  socket.addEventListener("open", () => opened.resolve(), { once: true });
  socket.addEventListener("error", () => opened.reject(new Error("the socket was not opened")), {
    once: true,
  });
  await opened.promise;
  const self: Socket = {
    received,
    frames: () => received.filter(({ type }) => type === "event"),
    async send(method, params = {}) {
      const id = nextId++;
      socket.send(JSON.stringify({ id, method, params }));
      const isAnswer = (message: Answer) => message.id === id && message.type !== "event";
      await self.until(() => received.some(isAnswer));
      return received.find(isAnswer);
    },
    sendText: (text) => socket.send(text),
    async until(isThere) {
      while (!isThere(self)) {
        if (ending !== undefined) throw new Error(`the socket was closed: ${ending}`);
        await news.promise;
      }
    },
    closed: closed.promise,
    close: () => socket.close(),
  };
  return self;
}
