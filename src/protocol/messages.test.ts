import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toCheckpointTime } from "../events/checkpoint-time.ts";
import type { Fields } from "../events/fields.ts";
import { matches } from "./channels.ts";
import { createMessages } from "./messages.ts";

const NS = ["model:1"];

/** What comes of chunks of one message, without the fields that all data have. */
function play(...chunks: Fields[]): Fields[] {
  const shown: Fields[] = [];
  const messages = createMessages((_namespace, _node, { run_id: _, ...data }) => void shown.push(data));
  for (const chunk of chunks) messages.add(NS, [{ id: "m", type: "ai", ...chunk }, {}]);
  messages.finish(() => true);
  return shown.slice(1);
}

const chunk = (fields: Fields) => ({ content: "", tool_call_chunks: [], ...fields });
const call = (fields: Fields) => chunk({ tool_call_chunks: [{ type: "tool_call_chunk", ...fields }] });
const finished = (data: Fields[]) =>
  data.filter(({ event }) => event === "content-block-finish").map(({ index, content }) => [index, content]);

describe("a message", () => {
  it("finishes a block before the next one begins", () => {
    const data = play(
      chunk({ additional_kwargs: { reasoning_content: "let me " } }),
      chunk({ additional_kwargs: { reasoning_content: "think" } }),
      chunk({ content: "so" }),
    );
    expect(data.map(({ event, index }) => `${event} ${index ?? ""}`.trim())).toEqual([
      "content-block-start 0",
      "content-block-delta 0",
      "content-block-delta 0",
      "content-block-finish 0",
      "content-block-start 1",
      "content-block-delta 1",
      "content-block-finish 1",
      "message-finish",
    ]);
    expect(finished(data)).toEqual([
      [0, { type: "reasoning", reasoning: "let me think" }],
      [1, { type: "text", text: "so" }],
    ]);
  });

  it("keeps apart the blocks of a provider that numbers them, and leaves out what says a tool call twice", () => {
    const data = play(
      chunk({ content: [{ type: "thinking", index: 0, thinking: "hm" }] }),
      chunk({ content: [{ type: "thinking", index: 0, signature: "s" }] }),
      chunk({ content: [{ type: "text", index: 1, text: "a" }] }),
      chunk({ content: [{ type: "text_delta", index: 1, text: "b" }] }),
      chunk({ content: [{ type: "tool_use", index: 2, id: "c", name: "f", input: "" }] }),
      call({ index: 2, id: "c", name: "f", args: '{"x":' }),
      call({ index: 2, args: "1}" }),
    );
    expect(finished(data)).toEqual([
      [0, { type: "reasoning", reasoning: "hm", signature: "s" }],
      [1, { type: "text", text: "ab" }],
      [2, { type: "tool_call", id: "c", name: "f", args: { x: 1 } }],
    ]);
  });

  it("tells two calls of one place apart by their ids, and takes up one that goes on later", () => {
    const data = play(
      call({ index: 0, id: "a", name: "f", args: "{}" }),
      call({ index: 0, id: "b", name: "g", args: '{"y":' }),
      call({ index: 1, id: "c", name: "h", args: "{}" }),
      call({ index: 0, args: "2}" }),
    );
    const last = new Map(finished(data) as [number, Fields][]);
    expect([...last.values()]).toEqual([
      { type: "tool_call", id: "a", name: "f", args: {} },
      { type: "tool_call", id: "b", name: "g", args: { y: 2 } },
      { type: "tool_call", id: "c", name: "h", args: {} },
    ]);
  });

  it("says of arguments that are no object that they are not valid", () => {
    for (const args of ["{", "5", "[]"]) {
      expect(finished(play(call({ index: 0, id: "a", name: "f", args })))).toMatchObject([
        [0, { type: "invalid_tool_call", id: "a", name: "f", args }],
      ]);
    }
  });

  it("sends long arguments in sum a few times, not once for each chunk", () => {
    const parts = Array.from({ length: 5_000 }, () => "abcd");
    const data = play(...parts.map((args) => call({ index: 0, id: "a", name: "f", args })));
    const sent = JSON.stringify(data.filter(({ event }) => event === "content-block-delta")).length;
    expect(sent).toBeLessThan(20 * 20_000);
    expect(finished(data)).toMatchObject([[0, { args: parts.join("") }]]);
  });

  it("adds up what its chunks have used", () => {
    const usage = (input_tokens: number, cache_read: number) =>
      chunk({ usage_metadata: { input_tokens, input_token_details: { cache_read } } });
    const data = play(usage(1, 2), usage(10, 20), chunk({ response_metadata: { finish_reason: "stop" } }));
    expect(data.at(-1)).toEqual({
      event: "message-finish",
      reason: "stop",
      usage: { input_tokens: 11, input_token_details: { cache_read: 22 } },
      responseMetadata: { finish_reason: "stop" },
    });
  });

  it("that comes whole is whole at once; a tool's or a nameless one is none", () => {
    expect(finished(play({ content: [{ type: "image_url", image_url: { url: "u" } }, "text"] }))).toEqual([
      [0, { type: "image", url: "u" }],
      [1, { type: "text", text: "text" }],
    ]);
    expect(play({ type: "tool", content: "x" })).toEqual([]);
    expect(play({ id: undefined, content: "x" })).toEqual([]);
  });

  it("bears anything", () => {
    fc.assert(
      fc.property(
        fc.array(fc.record({ content: fc.jsonValue(), tool_call_chunks: fc.jsonValue() })),
        (chunks) => {
          const data = play(...chunks);
          expect(data.length === 0 || data.at(-1)?.event === "message-finish").toBe(true);
        },
      ),
    );
  });
});

describe("a checkpoint's id", () => {
  it("tells when it was made", () => {
    expect(toCheckpointTime("1f1e59f6-063c-6cb0-8000-6514a93d72da")).toBe(
      Date.UTC(2026, 10, 21, 11, 33, 30, 492),
    );
    expect(toCheckpointTime("no id")).toBe(0);
  });
});

describe("a filter", () => {
  const frame = (namespace: string[], method = "values", channel = method) => ({
    seq: 1,
    eventId: "1",
    method,
    channel,
    namespace,
    timestamp: 0,
    data: "{}",
  });

  it("takes a node for all its tasks, and a task for itself", () => {
    const filter = (...namespaces: string[][]) => ({ channels: ["values"], namespaces });
    expect(matches(filter(["a"]), frame(["a:1", "b:2"]))).toBe(true);
    expect(matches(filter(["a:1"]), frame(["a:1"]))).toBe(true);
    expect(matches(filter(["a:2"]), frame(["a:1"]))).toBe(false);
    expect(matches(filter(["b"]), frame(["a:1", "b:2"]))).toBe(false);
    expect(matches(filter(["a"], ["c"]), frame(["c:9"]))).toBe(true);
    expect(matches({ ...filter(["a"]), depth: 0 }, frame(["a:1", "b:2"]))).toBe(false);
  });

  it("takes `custom` for all custom events, and a name for its own", () => {
    const named = frame([], "custom", "custom:x");
    expect(matches({ channels: ["custom"] }, named)).toBe(true);
    expect(matches({ channels: ["custom:x"] }, named)).toBe(true);
    expect(matches({ channels: ["custom:y"] }, named)).toBe(false);
    expect(matches({ channels: ["custom:x"] }, frame([], "custom"))).toBe(false);
  });
});
