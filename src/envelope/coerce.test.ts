import { AIMessage, HumanMessage } from "@langchain/core/messages";
import type { ChatGeneration } from "@langchain/core/outputs";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toPlain, toRecord } from "./coerce.ts";

const throwing = {
  before: 1,
  get broken() {
    throw new Error("not today");
  },
  after: 2,
};
class Instance {
  shown = "yes";
  _hidden = "no";
}
class Own {
  toJSON() {
    return { said: true };
  }
}
class Failing {
  kept = 1;
  toJSON() {
    throw new Error("no");
  }
}
const cyclic: Record<string, unknown> = { name: "ring" };
cyclic.self = cyclic;
const { proxy, revoke } = Proxy.revocable({}, {});
revoke();
const hostile = new Proxy(
  {},
  {
    get: () => {
      throw new Error("get");
    },
    ownKeys: () => {
      throw new Error("keys");
    },
  },
);

const deep = (levels: number) => {
  let value: unknown = "bottom";
  for (let level = 0; level < levels; level++) value = level % 2 ? [value] : { value };
  return value;
};

describe("coercion", () => {
  it("shows messages flat, also inside the results of a model", () => {
    expect(toPlain(new AIMessage({ id: "1", content: "hi" }))).toMatchObject({
      type: "ai",
      id: "1",
      content: "hi",
    });
    const result = {
      generations: [[{ text: "hi", message: new AIMessage("hi") } satisfies ChatGeneration]],
      llmOutput: { tokens: 3n },
    };
    expect(toPlain(result)).toMatchObject({
      generations: [[{ text: "hi", message: { type: "ai", content: "hi" } }]],
      llmOutput: { tokens: "3" },
    });
  });

  it("reads maps, sets, bytes, dates, errors and instances", () => {
    expect(toPlain(new Map([["a", new Set([1n])]]))).toEqual({ a: ["1"] });
    expect(toPlain({ bytes: new TextEncoder().encode("hi") })).toEqual({ bytes: "aGk=" });
    expect(toPlain(new Date(0))).toBe("1970-01-01T00:00:00.000Z");
    expect(toPlain(new RangeError("far", { cause: new Error("near") }))).toMatchObject({
      name: "RangeError",
      message: "far",
      class: "RangeError",
      stack: expect.stringContaining("RangeError: far"),
      cause: { message: "near" },
    });
    expect(toPlain(new Instance())).toEqual({ shown: "yes" });
    expect(toPlain(new Own())).toEqual({ said: true });
    expect(toPlain([Number.NaN, Symbol("s"), undefined, () => 1])).toEqual([
      "NaN",
      "Symbol(s)",
      null,
      "[Function ]",
    ]);
  });

  it("marks what cannot be read, and keeps what is beside it", () => {
    expect(toPlain(throwing)).toEqual({ before: 1, broken: "[Unreadable]", after: 2 });
    expect(toPlain(new Failing())).toEqual({ kept: 1 });
    expect(toPlain(cyclic)).toEqual({ name: "ring", self: "[Circular]" });
    expect(toPlain([proxy, hostile, "beside"])).toEqual(["[Unreadable]", "[Unreadable]", "beside"]);
    const twice = { same: true };
    expect(toPlain([twice, twice])).toEqual([twice, twice]);
  });

  it("cuts what is too deep to be written", () => {
    expect(JSON.stringify(toPlain(deep(100_000)))).toContain("[Too deep]");
    expect(toPlain(deep(100))).toEqual(deep(100));
  });

  it("makes an object of everything", () => {
    expect(
      [undefined, null, "text", new TextEncoder().encode("bytes"), 7, [1], new Date(0)].map(toRecord),
    ).toEqual([
      {},
      {},
      { text: "text" },
      { text: "bytes" },
      { repr: "7" },
      { repr: "[1]" },
      { repr: "1970-01-01T00:00:00.000Z" },
    ]);
    expect(toRecord(new HumanMessage("hi"))).toMatchObject({ type: "human", content: "hi" });
    expect(toRecord({ a: 1 })).toEqual({ a: 1 });
    expect(toRecord(proxy)).toEqual({ repr: "[Unreadable]" });
  });

  const hostiles = fc.constantFrom<unknown>(
    cyclic,
    // Not by themselves: the library reads its values.
    { toJSON: () => throwing },
    { toJSON: () => proxy },
    { toJSON: () => [hostile] },
    new Failing(),
    new AIMessage("hi"),
    deep(300),
    new WeakMap(),
    Promise.resolve(),
    JSON.parse('{"__proto__": {"polluted": true}}'),
  );
  const anything = fc.anything({
    withBigInt: true,
    withBoxedValues: true,
    withDate: true,
    withMap: true,
    withNullPrototype: true,
    withSet: true,
    withSparseArray: true,
    withTypedArray: true,
    withUnicodeString: true,
    values: [fc.string(), fc.double(), fc.boolean(), fc.constant(undefined), hostiles],
  });

  it("never throws, whatever comes: what it gives is JSON, and the same when it is read back", () => {
    fc.assert(
      fc.property(fc.oneof(anything, hostiles), (value) => {
        for (const coerced of [toPlain(value), toRecord(value)]) {
          const text = JSON.stringify(coerced);
          expect(JSON.stringify(JSON.parse(text))).toBe(text);
        }
        expect(toRecord(value)).toBeTypeOf("object");
        expect({}).not.toHaveProperty("polluted");
      }),
      { numRuns: 1_000 },
    );
  });

  it("leaves JSON as it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const json: unknown = JSON.parse(JSON.stringify(value));
        expect(toPlain(json)).toEqual(json);
      }),
    );
  });
});
