// The examples of document 004 that need no agent, and what a container promises beyond them.

import { Document } from "@langchain/core/documents";
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import fc from "fast-check";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineState } from "../define-state.ts";
import { copyValue } from "./copy-value.ts";
import { createState } from "./state.ts";
import { definitionFromJSON, definitionToJSON, stateFromJSON, stateToJSON } from "./state-json.ts";

const sortedMerge = (current: number[] | null | undefined, next: number[] | null | undefined) =>
  [...(current ?? []), ...(next ?? [])].sort((a, b) => a - b);
const concatenate = (current: string | null | undefined, next: string | null | undefined) =>
  current ? `${current}-${next}` : (next ?? null);

const Notes = defineState({
  user_name: { type: z.string(), handlers: { concatenate } },
  documents: { type: z.array(z.unknown()) },
  count: { type: z.int() },
  numbers: { type: z.array(z.number()), handler: sortedMerge },
  pages: { type: z.record(z.string(), z.string()).default({}) },
});

describe("the examples of document 004", () => {
  test("Automatic Message Handling", () => {
    const state = createState(defineState({ user_id: { type: z.string() } }));
    expect(Object.keys(state.definition.graphSchema.fields)).toContain("messages");
    expect(state.get("messages", [])).toEqual([]);
    state.set("messages", [{ role: "user", content: "hello" }]);
    state.set("messages", new AIMessage("hi"));
    expect(state.get("messages")?.map(({ type, text }) => [type, text])).toEqual([
      ["human", "hello"],
      ["ai", "hi"],
    ]);
  });

  test.each<[string, z.ZodType, unknown]>([
    ["a string", z.string(), "Alice"],
    ["an integer", z.int(), 1],
    ["a number", z.number(), 0.5],
    ["a boolean", z.boolean(), false],
    ["a record", z.record(z.string(), z.unknown()), { a: [1] }],
    ["a list", z.array(z.unknown()), [1, "a", null]],
    ["a list of strings", z.array(z.string()), ["a"]],
    ["a list of integers", z.array(z.int()), [1, 2]],
    ["a list of documents", z.array(z.instanceof(Document)), [new Document({ pageContent: "a" })]],
    ["one of two", z.union([z.string(), z.int()]), 1],
    ["an optional one", z.string().optional(), "a"],
    ["a class of one's own", z.instanceof(URL), new URL("http://127.0.0.1/")],
  ])("Supported Types: %s", (_what, type, value) => {
    const state = createState(defineState({ key: { type } }));
    state.set("key", value);
    expect(state.get("key")).toEqual(value);
  });

  test("Creating State, Reading from State, Writing to State", () => {
    const state = createState(Notes, { user_name: "Alice", documents: [], count: 0 });
    expect(state.get("user_name")).toBe("Alice");
    expect(state.get("documents", [])).toEqual([]);
    expect(state.has("user_name")).toBe(true);
    state.set("user_name", "Bob");
    state.set("documents", [{ title: "Doc 1", content: "Content 1" }]);
    expect(state.data).toEqual({
      user_name: "Bob",
      documents: [{ title: "Doc 1", content: "Content 1" }],
      count: 0,
      numbers: null,
      pages: {},
      messages: [],
    });
  });

  test("Default Handlers", () => {
    const state = createState(Notes);
    state.set("documents", [1, 2]);
    state.set("documents", [3, 4]);
    expect(state.get("documents")).toEqual([1, 2, 3, 4]);
    state.set("user_name", "Alice");
    state.set("user_name", "Bob");
    expect(state.get("user_name")).toBe("Bob");
  });

  test("Custom Handlers", () => {
    const state = createState(Notes);
    state.set("numbers", [3, 1]);
    state.set("numbers", [2, 4]);
    expect(state.get("numbers")).toEqual([1, 2, 3, 4]);
  });

  test.each([["a function", concatenate] as const, ["the name of a declared one", "concatenate"] as const])(
    "a handler for one write, given as %s",
    (_form, handlerOverride) => {
      const state = createState(Notes);
      state.set("user_name", "Alice");
      state.set("user_name", "Bob", { handlerOverride });
      expect(state.get("user_name")).toBe("Alice-Bob");
    },
  );
});

test("the page's example", () => {
  const state = createState(Notes, { user_name: "Alice" });
  state.set("user_name", "Bob", { handlerOverride: concatenate });
  expect(state.get("user_name")).toBe("Alice-Bob");
  expect(state.has("documents")).toBe(false);
  expect(state.get("documents", [])).toEqual([]);
});

describe("a state", () => {
  test("takes a single value for a list of one", () => {
    const state = createState(Notes);
    state.set("documents", "a");
    state.set("documents", ["b"]);
    expect(state.get("documents")).toEqual(["a", "b"]);
  });

  test("has nothing where nothing was written or null was, and then the default is handed out", () => {
    const state = createState(Notes, { count: 1 });
    state.set("count", null);
    expect([state.has("count"), state.get("count"), state.get("count", 7)]).toEqual([false, undefined, 7]);
    expect(state.get("pages")).toEqual({});
    state.set("user_name", undefined);
    expect(state.has("user_name")).toBe(false);
  });

  test("cannot be changed but by set", () => {
    const given = [{ title: "one" }];
    const fallback: unknown[] = [];
    const state = createState(Notes);
    state.set("documents", given);
    const held = state.get("documents") as { title: string }[];
    for (const list of [given, held, state.data.documents as typeof given]) {
      list.push({ title: "two" });
      (list[0] as { title: string }).title = "changed";
    }
    expect(state.get("documents")).toEqual([{ title: "one" }]);
    const initial: unknown[] = [["one"]];
    const begun = createState(Notes, { documents: initial });
    (initial[0] as string[]).push("two");
    expect(begun.get("documents")).toEqual([["one"]]);
    createState(Notes).get("documents", fallback)?.push("more");
    expect(fallback).toEqual([]);
  });

  test("refuses what does not fit and what it does not know, and stays as it was", () => {
    const state = createState(Notes, { count: 1 });
    expect(() => state.set("count", "2" as never)).toThrow(/"count".*expected number/s);
    // @ts-expect-error -- the type refuses it as well
    expect(() => state.set("cuont", 2)).toThrow('no key "cuont"; it has user_name, documents, count');
    // @ts-expect-error -- the type refuses it as well
    expect(() => state.get("cuont")).toThrow('no key "cuont"');
    expect(() => state.set("count", 2, { handlerOverride: "sum" })).toThrow(
      '"count" has no handler "sum"; it has replaceValues',
    );
    expect(() => state.set("count", 2, { handlerOverride: () => "text" as never })).toThrow('"count"');
    expect(() => state.set("messages", [{ role: "nobody" }] as never)).toThrow('"messages" takes messages');
    expect(() => createState(Notes, { count: "1" as never })).toThrow('"count"');
    expect(() => createState(Notes, { constructor: 1 } as never)).toThrow('no key "constructor"');
    expect(state.data).toEqual(createState(Notes, { count: 1 }).data);
  });

  test("has the types of its declaration", () => {
    const state = createState(Notes);
    expectTypeOf(state.get("count")).toEqualTypeOf<number | undefined>();
    expectTypeOf(state.get("numbers", [])).toEqualTypeOf<number[]>();
  });
});

describe("as JSON", () => {
  const registry = { sortedMerge, concatenate };
  const wire = <Value>(value: Value): unknown => JSON.parse(JSON.stringify(value));

  test("a declaration comes back with its types, defaults and handlers", () => {
    const json = definitionToJSON(Notes, registry);
    expect(json).toMatchObject({
      user_name: { type: { type: "string" }, handler: "replaceValues", handlers: ["concatenate"] },
      documents: { type: { type: "array" }, handler: "mergeLists" },
      numbers: { handler: "sortedMerge" },
      pages: { type: { default: {} } },
    });
    const back = definitionFromJSON(wire(json), registry);
    expect(definitionToJSON(back, registry)).toEqual(json);
    const state = createState(back, { numbers: [3] });
    state.set("numbers", [1]);
    state.set("documents", "a");
    expect(state.data).toMatchObject({ numbers: [1, 3], documents: ["a"], pages: {}, user_name: null });
    expect(() => state.set("count", 1.5)).toThrow('"count"');
  });

  test("a state comes back with its values and messages", () => {
    const call = { id: "call_1", name: "add", args: { a: 1 } };
    const state = createState(Notes, {
      documents: [{ a: [1] }],
      messages: [
        new HumanMessage({ id: "1", content: "go" }),
        new AIMessage({ id: "2", content: "", tool_calls: [call] }),
        new ToolMessage({ id: "3", content: "no", tool_call_id: "call_1", name: "add", status: "error" }),
      ],
    });
    const text = JSON.stringify(stateToJSON(state, registry));
    const back = stateFromJSON(JSON.parse(text), registry);
    expect(back.data).toEqual(state.data);
    expect(back.get("messages")?.map((message) => message.constructor)).toEqual([
      HumanMessage,
      AIMessage,
      ToolMessage,
    ]);
  });

  test("what has no JSON and what is none is refused with the key and the reason", () => {
    expect(() => definitionToJSON(Notes)).toThrow(
      '"user_name": its handler "concatenate" is not in the registry',
    );
    expect(() => definitionToJSON(Notes, { concatenate })).toThrow(
      '"numbers": its handler is not in the registry',
    );
    expect(() => definitionToJSON(defineState({ at: { type: z.date() } }))).toThrow('"at": Date cannot');
    expect(() => definitionFromJSON({ a: { type: {}, handler: "sum" } }, registry)).toThrow(
      '"a": there is no handler "sum"; there is sortedMerge, concatenate, mergeLists, replaceValues',
    );
    expect(() => definitionFromJSON({ a: { handler: "sum" } })).toThrow("no state as JSON");
    expect(() => definitionFromJSON({ a: { type: { $ref: "#/x" }, handler: "mergeLists" } })).toThrow(
      'key "a"',
    );
    for (const messages of [7, [7], [{ type: "nobody", data: {} }]]) {
      expect(() => stateFromJSON({ schema: {}, data: { messages } })).toThrow('State key "messages"');
    }
    expect(() =>
      stateFromJSON({ schema: definitionToJSON(Notes, registry), data: { count: "1" } }, registry),
    ).toThrow('"count"');
  });
});

describe("a copy", () => {
  test("equals what it was made of and shares nothing with it", () => {
    fc.assert(
      fc.property(
        fc.anything({ withMap: true, withSet: true, withDate: true, withTypedArray: true }),
        (value) => {
          const copy = copyValue(value);
          expect(copy).toEqual(value);
          if (typeof value === "object" && value !== null) expect(copy).not.toBe(value);
        },
      ),
    );
  });

  test("keeps messages, documents and cycles what they are, and hands an unknown class on", () => {
    class Secret {
      readonly #word = "heddle";
      word = () => this.#word;
    }
    const message = new AIMessage({ content: [{ type: "text", text: "a" }], id: "1" });
    const document = new Document({ pageContent: "page", metadata: { tags: ["a"] } });
    const loop: Record<string, unknown> = { secret: new Secret() };
    loop.self = loop;
    const copy = copyValue({ message, document, loop });
    expect(AIMessage.isInstance(copy.message)).toBe(true);
    expect(copy.message).toEqual(message);
    expect(copy.message.content).not.toBe(message.content);
    expect(copy.document).toEqual(document);
    expect(copy.document.metadata.tags).not.toBe(document.metadata.tags);
    expect(copy.loop.self).toBe(copy.loop);
    expect((copy.loop.secret as Secret).word()).toBe("heddle");
    expect(Object.keys(copyValue(JSON.parse('{"__proto__":{"a":1}}')))).toEqual(["__proto__"]);
  });
});
