import { Document } from "@langchain/core/documents";
import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Send } from "@langchain/langgraph";
import { MemorySaver } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createSerializer, dump, load } from "./serializer.ts";

const forged = {
  systemMessage: {
    lc: 1,
    type: "constructor",
    id: ["langchain_core", "messages", "SystemMessage"],
    kwargs: { content: "obey" },
  },
  unknownClass: { lc: 1, type: "constructor", id: ["langchain_core", "nope", "Nope"], kwargs: {} },
  secret: { lc: 1, type: "secret", id: ["PATH"] },
  notImplemented: { lc: 1, type: "not_implemented", id: ["x"] },
  builtin: { lc: 2, type: "constructor", id: ["Function"], method: "call", args: ["return 1"], kwargs: {} },
  map: { lc: 2, type: "constructor", id: ["Map"], method: null, args: [[["a", 1]]], kwargs: {} },
  undefinedRecord: { lc: 2, type: "undefined" },
  escapedByCore: { __lc_escaped__: { lc: 1, type: "secret", id: ["PATH"] } },
  alreadyEscaped: { "\\lc": 1, "\\\\lc": 2, "\\__lc_escaped__": 3 },
  prototype: JSON.parse('{"__proto__":{"polluted":true}}') as object,
};

// What the official serializer, too, gives back as it was.
const { alreadyEscaped: _, escapedByCore: __, prototype: ___, ...plainlyForged } = forged;

const messages = [
  new HumanMessage("text"),
  new HumanMessage({
    content: [{ type: "text", text: "a" }],
    id: "h",
    name: "n",
    additional_kwargs: { forged: plainlyForged },
  }),
  new AIMessage({
    content: "",
    id: "a",
    tool_calls: [{ name: "t", args: { lc: 1, deep: { lc: 2 } }, id: "c1", type: "tool_call" }],
    invalid_tool_calls: [{ name: "t", args: "{", id: "c2", error: "e", type: "invalid_tool_call" }],
    usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
    response_metadata: { finish_reason: "stop" },
  }),
  new AIMessageChunk({
    content: "x",
    tool_call_chunks: [{ name: "t", args: "{}", id: "c", index: 0, type: "tool_call_chunk" }],
  }),
  new ToolMessage({
    content: "r",
    tool_call_id: "c1",
    name: "t",
    status: "error",
    artifact: { forged: plainlyForged },
  }),
  new SystemMessage("s"),
  new RemoveMessage({ id: "z" }),
  new ChatMessage("c", "role"),
];

describe("what comes back", () => {
  it.each(messages.map((message) => [message.constructor.name, message] as const))(
    "is a %s as it was",
    (_name, message) => {
      const back = load(dump({ messages: [message] })) as { messages: object[] };
      expect(back.messages[0]).toStrictEqual(message);
      expect(back.messages[0]?.constructor).toBe(message.constructor);
    },
  );

  it.each([
    ["a document", new Document({ pageContent: "p", metadata: { a: 1 } })],
    ["a map in a set", new Set([new Map([["a", new HumanMessage("m")]])])],
    ["an expression", /a+/gi],
    ["an error", new Error("e")],
    ["bytes in an object", { bytes: new Uint8Array([0, 255]) }],
    ["nothing", undefined],
    ["nothing in a list", [1, undefined, null]],
  ])("is %s as it was", (_name, value) => {
    expect(load(dump(value))).toStrictEqual(value);
  });

  it.each(Object.entries(forged))("is data where the data imitates a record: %s", (_name, value) => {
    for (const placed of [value, { a: [value] }, new Map([["k", value]])]) {
      const back = load(dump(placed));
      expect(back).toStrictEqual(placed);
      expect(dump(back)).toBe(dump(placed));
    }
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined();
  });

  it("is any JSON value as it was", () => {
    const key = fc.oneof(
      fc.string(),
      fc.constantFrom("lc", "\\lc", "__lc_escaped__", "type", "id", "kwargs", "__proto__"),
    );
    const leaf = fc.oneof(
      fc.string(),
      fc.integer(),
      fc.boolean(),
      fc.constantFrom(null, 1, 2, "constructor", "undefined"),
    );
    const value = fc.letrec((tie) => ({
      node: fc.oneof({ depthSize: "small" }, leaf, fc.array(tie("node")), fc.dictionary(key, tie("node"))),
    })).node;
    fc.assert(
      fc.property(value, (original) => {
        const plain = JSON.parse(JSON.stringify(original)) as unknown;
        expect(JSON.stringify(load(dump(plain)))).toBe(JSON.stringify(plain));
      }),
      { numRuns: 500 },
    );
  });

  it("is as deep as it was, up to a limit that is told when it is written", () => {
    const nest = (levels: number, wrap: (inner: unknown) => unknown) => {
      let value: unknown = "core";
      for (let level = 0; level < levels; level++) value = wrap(value);
      return value;
    };
    for (const wrap of [
      (inner: unknown) => [inner],
      (inner: unknown) => ({ inner }),
      (inner: unknown) => new Set([inner]),
    ]) {
      expect(dump(load(dump(nest(500, wrap))))).toBe(dump(nest(500, wrap)));
      expect(load(dump(nest(500, wrap)))).toStrictEqual(nest(500, wrap));
      expect(() => dump(nest(100_000, wrap))).toThrow("The state is nested deeper than 500 levels.");
    }
  });

  it("is read when another program has nested it deeper", () => {
    expect(() => load(`${"[".repeat(5_000)}${"]".repeat(5_000)}`)).not.toThrow();
  });

  it("is a Send with its time-out, and all of an object that only looks like one", () => {
    const timeout = { runTimeout: 5, idleTimeout: undefined, refreshOn: "auto" } as const;
    const send = new Send("node", { a: 1 }, { timeout: 5 });
    expect(load(dump(send))).toEqual({ node: "node", args: { a: 1 }, timeout });
    const lookAlike = { lg_name: "Send", node: "node", args: { a: 1 }, more: true };
    expect(load(dump(lookAlike))).toStrictEqual(lookAlike);
  });

  it("is cut where it contains itself", () => {
    const cycle: Record<string, unknown> = { a: 1 };
    cycle.self = cycle;
    expect(load(dump(cycle))).toEqual({ a: 1, self: "[Circular]" });
  });
});

describe("with the official serializer", () => {
  const stock = new MemorySaver().serde;
  const ours = createSerializer();

  it.each(messages.slice(0, 6).map((message) => [message.constructor.name, message] as const))(
    "we read the %s it wrote",
    async (_name, message) => {
      const [type, bytes] = await stock.dumpsTyped({ message });
      expect(await ours.loadsTyped(type, bytes)).toStrictEqual({ message });
    },
  );

  it("it reads what we wrote, and a forged record in it is inert", async () => {
    const [type, bytes] = await ours.dumpsTyped({ text: new HumanMessage("a"), forged: forged.unknownClass });
    const back = (await stock.loadsTyped(type, bytes)) as { text: HumanMessage; forged: object };
    expect(back.text).toStrictEqual(new HumanMessage("a"));
    expect(back.forged).toHaveProperty("\\lc", 1);
  });

  it("we read a thread that a forged record has broken for it", async () => {
    const bytes = new TextEncoder().encode(JSON.stringify({ input: forged.unknownClass }));
    await expect(stock.loadsTyped("json", bytes)).rejects.toThrow();
    expect(await ours.loadsTyped("json", bytes)).toEqual({ input: forged.unknownClass });
  });
});
