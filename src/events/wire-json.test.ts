import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toWireJson } from "./wire-json.ts";

const wire = (value: unknown) => JSON.parse(toWireJson(value)) as unknown;

describe("the JSON of the wire", () => {
  it("has flat messages, wherever they are", () => {
    const value = {
      list: [new HumanMessage({ content: "a", id: "1" })],
      deep: { one: new AIMessage({ content: "b", id: "2" }) },
    };
    expect(wire(value)).toEqual({
      list: [{ content: "a", additional_kwargs: {}, response_metadata: {}, id: "1", type: "human" }],
      deep: {
        one: expect.objectContaining({
          content: "b",
          id: "2",
          type: "ai",
          tool_calls: [],
          invalid_tool_calls: [],
        }),
      },
    });
  });

  it("shows a tool's message with its call", () => {
    expect(wire(new ToolMessage({ content: "r", tool_call_id: "c", name: "t" }))).toMatchObject({
      type: "tool",
      tool_call_id: "c",
      name: "t",
    });
  });

  it("has a list of anything as the list of what each is alone", () => {
    const text = fc.string();
    const message = fc.oneof(
      fc.record({ content: text, id: text, name: text }).map((fields) => new HumanMessage(fields)),
      fc
        .record({ content: text, response_metadata: fc.dictionary(text, fc.jsonValue()) })
        .map((fields) => new AIMessage(fields)),
      fc
        .record({ content: text, tool_call_id: text })
        .map(
          (fields) => new ToolMessage({ ...fields, artifact: { inside: new HumanMessage(fields.content) } }),
        ),
    );
    const { value: anything } = fc.letrec<{ value: unknown }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 3 },
        message,
        fc.jsonValue({ maxDepth: 1 }),
        fc.oneof(fc.bigInt(), fc.date(), fc.constantFrom(undefined, new Error("e"), new Uint8Array([1]))),
        fc.array(tie("value"), { maxLength: 4 }),
        fc.array(tie("value"), { maxLength: 4 }).map((items) => new Set(items)),
        fc.dictionary(text, tie("value"), { maxKeys: 3 }),
      ),
    }));
    fc.assert(
      fc.property(fc.array(anything), (list) => {
        expect(toWireJson(list)).toBe(`[${list.map(toWireJson).join(",")}]`);
      }),
    );
  });

  it("shows what JSON has no form for", () => {
    expect(
      wire({
        big: 10n,
        map: new Map([["a", 1]]),
        set: new Set([1]),
        error: new RangeError("e"),
        bytes: new Uint8Array([1]),
      }),
    ).toEqual({
      big: "10",
      map: { a: 1 },
      set: [1],
      error: { name: "RangeError", message: "e" },
      bytes: "AQ==",
    });
  });

  it("is one line, whatever the text", () => {
    expect(toWireJson({ text: "a\r\nb\u2028c\0" })).not.toMatch(/[\r\n\0]/);
  });

  it("is JSON even of what contains itself or cannot be read", () => {
    const cycle: Record<string, unknown> = { same: { a: 1 } };
    cycle.again = cycle.same;
    cycle.self = cycle;
    expect(wire(cycle)).toEqual({ same: { a: 1 }, again: { a: 1 }, self: "[Circular]" });
    const list: unknown[] = [new HumanMessage("a")];
    list.push(list, { list });
    expect(wire(list)).toEqual([wire(list[0]), "[Circular]", { list: "[Circular]" }]);
    const throwing = {
      get value(): never {
        throw new Error("no");
      },
    };
    expect(wire(throwing)).toBe("[Unreadable]");
    expect(toWireJson(undefined)).toBe("null");
  });
});
