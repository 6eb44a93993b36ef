import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver, START, StateGraph, type StateSchema } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { ScriptedModel } from "../../test/helpers/scripted-model.ts";
import { stateAfter } from "../../test/helpers/state-after.ts";
import { defineState, type StateOf } from "./define-state.ts";

const Notes = defineState({
  user_name: { type: z.string() },
  documents: { type: z.array(z.string()) },
  numbers: {
    type: z.array(z.number()),
    handler: (current, next) => [...new Set([...(current ?? []), ...(next ?? [])])].sort((a, b) => a - b),
  },
  pages: { type: z.record(z.string(), z.string()).default({}) },
});

/** A graph whose steps write `updates`, one after the other, in both forms of the declaration. */
const graphs = {
  "an Annotation": () => new StateGraph(Notes.annotation),
  "a StateSchema": () => new StateGraph(Notes.graphSchema),
};

describe.each(Object.entries(graphs))("a state used as %s", (_form, builder) => {
  const run = (...updates: Record<string, unknown>[]) =>
    stateAfter<StateOf<typeof Notes>>(builder(), updates);

  test("has messages without declaring them", async () => {
    const state = await run({ messages: [new HumanMessage("hello")] }, { messages: [new AIMessage("hi")] });
    expect(state.messages.map((message) => message.text)).toEqual(["hello", "hi"]);
  });

  test("merges lists and replaces the rest, as document 004 does by default", async () => {
    const state = await run({ user_name: "Alice", documents: ["1"] }, { user_name: "Bob", documents: ["2"] });
    expect(state).toMatchObject({ user_name: "Bob", documents: ["1", "2"] });
  });

  test("runs an own handler on the first write too", async () => {
    expect(await run({ numbers: [3, 1] })).toMatchObject({ numbers: [1, 3] });
    expect(await run({ numbers: [3, 1] }, { numbers: [2, 4] })).toMatchObject({ numbers: [1, 2, 3, 4] });
  });

  test("starts a key at its default, or at null", async () => {
    expect(await run({ user_name: "Alice" })).toMatchObject({ pages: {}, documents: null });
  });

  test("takes an undefined write for no write", async () => {
    const state = await run(
      { pages: { a: "1" }, user_name: "Alice" },
      { pages: undefined, user_name: undefined },
    );
    expect(state).toMatchObject({ pages: { a: "1" }, user_name: "Alice" });
  });
});

test("two parallel tools may write the same replaced key", async () => {
  const rename = tool(
    ({ name }, config) =>
      new Command({
        update: {
          user_name: name,
          messages: [new ToolMessage({ content: "done", tool_call_id: config.toolCall.id })],
        },
      }),
    { name: "rename", description: "Renames.", schema: z.object({ name: z.string() }) },
  );
  const agent = createAgent({
    model: new ScriptedModel([
      {
        tool_calls: [
          { name: "rename", args: { name: "A" } },
          { name: "rename", args: { name: "B" } },
        ],
      },
      "done",
    ]),
    tools: [rename],
    stateSchema: Notes.schema,
  });
  const state = await agent.graph.invoke({ messages: [new HumanMessage("go")] });
  expect(state.user_name).toBe("B");
});

test("an agent keeps handlers over the turns of a thread", async () => {
  const agent = createAgent({
    model: new ScriptedModel(["one", "two"]),
    stateSchema: Notes.schema,
    checkpointer: new MemorySaver(),
  });
  const thread = { configurable: { thread_id: "t" } };
  await agent.graph.invoke({ messages: [new HumanMessage("1")], documents: ["a"] }, thread);
  const state = await agent.graph.invoke({ messages: [new HumanMessage("2")], documents: ["b"] }, thread);
  expect(state.documents).toEqual(["a", "b"]);
});

test("a value that does not fit the type is refused, and the key is named", async () => {
  const graph = new StateGraph(Notes.graphSchema)
    .addNode("write", () => ({ user_name: 7 as unknown as string }))
    .addEdge(START, "write")
    .compile();
  await expect(graph.invoke({})).rejects.toThrow('"user_name"');
});

test("the schema gives the JSON schema that Studio shows", () => {
  const { properties, required } = Notes.graphSchema.getJsonSchema() as {
    properties: Record<string, unknown>;
    required?: string[];
  };
  expect(Object.keys(properties)).toEqual(
    expect.arrayContaining(["user_name", "documents", "numbers", "pages", "messages"]),
  );
  expect(properties.documents).toMatchObject({ anyOf: [{ type: "array" }, { type: "null" }], default: null });
  expect(required).toBeUndefined();
});

test("an agent's input keeps the messages that Studio makes a chat of, and hides keys that begin with _", () => {
  const agent = createAgent({
    model: new ScriptedModel([]),
    stateSchema: Notes.extend({ _own: { type: z.number() } }).schema,
  });
  const { properties } = (
    agent.graph.builder as unknown as { _inputRuntimeDefinition: StateSchema<never> }
  )._inputRuntimeDefinition.getInputJsonSchema() as { properties: Record<string, unknown> };
  expect(properties.messages).toMatchObject({ langgraph_type: "messages" });
  expect(properties).toHaveProperty("user_name");
  expect(properties).not.toHaveProperty("_own");
});

test("picked keys keep their handlers", () => {
  const picked = Notes.pick("numbers");
  expect(Object.keys(picked.schema.fields)).toEqual(["numbers"]);
  expect(picked.schema.fields.numbers).toBe(Notes.schema.fields.numbers);
});

test("a state can be extended, and keeps what it had", () => {
  const more = Notes.pick("numbers").extend({ _rounds: { type: z.number().default(0) } });
  expect(Object.keys(more.schema.fields)).toEqual(["numbers", "_rounds"]);
  expect(more.schema.fields.numbers).toBe(Notes.schema.fields.numbers);
});

// As from JavaScript: TypeScript refuses these by itself.
test.each([
  [
    "messages",
    { messages: { type: z.string() } },
    'State key "messages" is a list of messages in every state',
  ],
  ["no type", { a: { handler: () => 1 } }, 'State key "a" needs a type, a Zod schema'],
  ["a type that is no Zod schema", { a: { type: "string" } }, 'State key "a" needs a type, a Zod schema'],
  ["nothing", { a: undefined }, 'State key "a" needs a type'],
  [
    "a handler that is no function",
    { a: { type: z.string(), handler: "add" } },
    'State key "a" has a handler that is no',
  ],
  [
    "a misspelt part",
    { a: { type: z.string(), handelr: () => "" } },
    '"handelr", which is no part of a declaration; those are type, handler, handlers',
  ],
  [
    "a named handler that is no function",
    { a: { type: z.string(), handlers: { add: 1 } } },
    'the handler "add" is no function',
  ],
  [
    "a standard name for another handler",
    { a: { type: z.string(), handlers: { replaceValues: () => "" } } },
    'the handler "replaceValues" is there already',
  ],
])("a declaration with %s is refused with the key and the reason", (_what, fields, message) => {
  expect(() => defineState(fields as never)).toThrow(TypeError);
  expect(() => defineState(fields as never)).toThrow(message);
});

test("an unknown picked key and a hidden default are refused with a reason", () => {
  // @ts-expect-error -- the type refuses it as well
  expect(() => Notes.pick("nope")).toThrow('no key "nope"; it has user_name');
  expect(() => Notes.pick("constructor" as never)).toThrow('no key "constructor"');
  expect(() => defineState({ pages: { type: z.string().default("a").nullable() } })).toThrow("outermost");
});

test("the type follows from the declaration", () => {
  type State = StateOf<typeof Notes>;
  expectTypeOf<State["user_name"]>().toEqualTypeOf<string | null>();
  expectTypeOf<State["documents"]>().toEqualTypeOf<string[] | null>();
  expectTypeOf<State["messages"][number]>().toExtend<{ id?: string }>();
});
