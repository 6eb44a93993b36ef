// Speaks the routes of the envelopes, and makes two streams comparable.
import { createParser } from "eventsource-parser";
import { expect } from "vitest";
import type { Envelope } from "../../src/envelope/schema.ts";
import type { TestApp } from "./app.ts";

/** All that envelopes are made of. */
const ALL_MODES = ["values", "updates", "messages-tuple", "tools", "tasks", "custom"];

/** Starts a run that logs everything, on a thread of its own unless one is named. */
export async function startRun(
  { client }: TestApp,
  graph: string,
  input: unknown,
  { threadId = "", ...more }: { threadId?: string; [field: string]: unknown } = {},
): Promise<{ threadId: string; runId: string }> {
  const thread_id = threadId || (await client.threads.create()).thread_id;
  const { run_id } = await client.runs.create(thread_id, graph, {
    input: input as Record<string, unknown>,
    streamMode: ALL_MODES as "values"[],
    streamSubgraphs: true,
    ...more,
  });
  return { threadId: thread_id, runId: run_id };
}

export const eventsUrl = (url: string, threadId: string, runId?: string, query = "") =>
  `${url}/threads/${threadId}${runId === undefined ? "" : `/runs/${runId}`}/events${query && `?${query}`}`;

/** A run's envelopes as they are downloaded. */
export async function download(url: string): Promise<string> {
  const response = await fetch(url, { headers: { accept: "application/jsonl" } });
  expect([response.status, response.headers.get("content-type")]).toEqual([200, "application/jsonl"]);
  return response.text();
}

export const toEnvelopes = (jsonl: string): Envelope[] =>
  jsonl
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

export interface EnvelopeStream {
  readonly received: { readonly id: string; readonly envelope: Envelope }[];
  /** Resolves with all of them when one is as wanted. @throws when the stream ends before */
  until(isLast: (envelope: Envelope) => boolean): Promise<Envelope[]>;
  /** Resolves with all of them when the stream has ended. */
  ended(): Promise<Envelope[]>;
  close(): void;
}

/** Opens an event stream and reads it until it is closed. */
export async function openEvents(url: string, headers: Record<string, string> = {}): Promise<EnvelopeStream> {
  const gone = new AbortController();
  const response = await fetch(url, { headers, signal: gone.signal });
  expect(response.headers.get("content-type")).toBe("text/event-stream");
  const received: { id: string; envelope: Envelope }[] = [];
  let isOver = false;
  let news = Promise.withResolvers<void>();
  const parser = createParser({
    onEvent({ event, id = "", data }) {
      const envelope: Envelope = JSON.parse(data);
      if (event !== envelope.type) throw new Error(`an envelope names itself ${event}`);
      received.push({ id, envelope });
    },
  });
  const read = async () => {
    const decoder = new TextDecoder();
    for await (const chunk of response.body ?? []) {
      parser.feed(decoder.decode(chunk, { stream: true }));
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
  const all = () => received.map(({ envelope }) => envelope);
  return {
    received,
    async until(isLast) {
      for (let looked = 0; ; ) {
        for (; looked < received.length; looked++) {
          const found = received[looked];
          if (found && isLast(found.envelope)) return all().slice(0, looked + 1);
        }
        if (isOver) throw new Error(`the stream has ended after ${received.length} envelopes`);
        await news.promise;
      }
    },
    async ended() {
      while (!isOver) await news.promise;
      return all();
    },
    close: () => gone.abort(),
  };
}

/** The last envelope of a run. */
export const isEnd = ({ type, parent_id }: Envelope) => type === "tool_end" && parent_id === null;

/** The lines with ids and times that differ from run to run replaced by the order in which they come. */
export function normalise(envelopes: readonly Envelope[]): string {
  const known = new Map<string, string>();
  const name = (kind: string) => (id: string) => {
    const found = known.get(id) ?? `${kind}-${known.size + 1}`;
    known.set(id, found);
    return found;
  };
  return envelopes
    .map((envelope) => `${JSON.stringify({ ...envelope, ts: 0 })}\n`)
    .join("")
    .replaceAll(/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/g, name("id"))
    .replaceAll(/\b[0-9a-f]{64}\b/g, "sha256");
}

/** A line for each: who, what, how many. */
export const toLines = (envelopes: readonly Envelope[]) =>
  envelopes.map(({ agent, type, seq, payload }) => {
    const { tool_name, text, name, status, synthetic, node } = payload;
    const shown = [tool_name ?? text ?? name ?? node, status, synthetic && "synthetic"];
    return [agent, seq, type, ...shown.filter(Boolean)].join(" ");
  });
