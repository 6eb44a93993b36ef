import { HumanMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ScriptedModel } from "../../../test/helpers/scripted-model.ts";
import { defineState } from "../define-state.ts";
import { type DefinedTool, defineTool, type ToolDefinition } from "../define-tool.ts";

type Maybe<Value> = Value | null | undefined;
const add = (current: Maybe<number>, next: Maybe<number>) => (current ?? 0) + (next ?? 0);

const Notes = defineState({
  user_name: { type: z.string() },
  documents: { type: z.array(z.string()) },
  count: { type: z.number().default(0), handlers: { add } },
  found: { type: z.unknown() },
});

const schema = z.object({ query: z.string().default("q"), context: z.string().optional() });

/** What the tool writes to the state when it is called with these values there. */
async function updateOf(tool: DefinedTool, state: object = {}, args: object = {}) {
  const call = { type: "tool_call" as const, name: tool.name, id: "call_1", args: { ...args } };
  const result: unknown = await tool.invoke(call, { state } as never);
  return isCommand(result) ? (result.update as Record<string, unknown>) : {};
}

describe("a definition that is wrong is refused, and the message has what is right", () => {
  // As from JavaScript: TypeScript refuses most of these by itself.
  const define = (options: object) =>
    defineTool({
      name: "search",
      description: "Searches.",
      schema,
      run: () => ({ results: ["a"], total: 1 }),
      ...(options as Partial<ToolDefinition<typeof schema, Record<string, never>, unknown>>),
    });
  const returns = z.object({ results: z.array(z.string()), total: z.number() });

  it.each([
    [
      "an unknown input key",
      { inputsFromState: { name: "context" } },
      'no key "name"; it has user_name, documents',
    ],
    [
      "an unknown parameter",
      { inputsFromState: { user_name: "ctx" } },
      'no parameter "ctx"; it has query, context',
    ],
    [
      "one parameter for two keys",
      { inputsFromState: { user_name: "context", found: "context" } },
      'more than one key fills the parameter "context"',
    ],
    [
      "an input of another type",
      { inputsFromState: { documents: "context" } },
      'the key "documents" for the parameter "context" is array of string, not string',
    ],
    [
      "an unknown output key",
      { outputsToState: { result: {} } },
      'no key "result"; it has user_name, documents',
    ],
    ["messages as output", { outputsToState: { messages: {} } }, '"messages" is written by the tool'],
    [
      "an unknown source",
      { outputsToState: { documents: { source: "docs" } }, returns },
      'the source "docs" of "documents" is not in what the tool returns; that has results, total',
    ],
    [
      "a source of another type",
      { outputsToState: { documents: { source: "total" } }, returns },
      'what goes to the key "documents" is number, not array of string or string',
    ],
    [
      "a whole result of another type",
      { outputsToState: { count: {} }, returns },
      'what goes to the key "count" is object, not number',
    ],
    [
      "an unknown handler",
      { outputsToState: { count: { source: "total", handler: "sum" } } },
      '"count" has no handler "sum"; it has replaceValues, add',
    ],
    [
      "a handler that every object has",
      { outputsToState: { count: { source: "total", handler: "constructor" } } },
      '"count" has no handler "constructor"',
    ],
    [
      "a handler that is a function",
      { outputsToState: { count: { handler: add } } },
      "declare it with the key",
    ],
    [
      "another word",
      { outputsToState: { count: { sorce: "total" } } },
      'has "sorce"; it may have source, handler',
    ],
    [
      "a mapping that is none",
      { outputsToState: { count: "total" } },
      'mapping of "count" is no { source, handler }',
    ],
  ])("%s", (_what, options, message) => {
    const wrong = () => define({ state: Notes, ...options });
    expect(wrong).toThrow(TypeError);
    expect(wrong).toThrow(/^Tool "search", (inputsFromState|outputsToState): /);
    expect(wrong).toThrow(message);
  });

  it("no declaration of the state", () => {
    expect(() => define({ outputsToState: { count: {} } })).toThrow("needs its declaration: state");
  });

  it("types that may fit are let through", () => {
    const outputs = { documents: { source: "results" }, count: { source: "total" }, found: {} };
    expect(() => define({ state: Notes, outputsToState: outputs, returns })).not.toThrow();
    expect(() =>
      define({ state: Notes, outputsToState: { documents: {} }, returns: z.string() }),
    ).not.toThrow();
    expect(() => define({ state: Notes, inputsFromState: { found: "context" } })).not.toThrow();
  });
});

describe("what the state fills", () => {
  const seen: unknown[] = [];
  const search = (parameter: z.ZodType, open = false) =>
    defineTool({
      name: "search",
      description: "Searches.",
      schema: open
        ? z.looseObject({ query: z.string(), context: parameter })
        : z.object({ query: z.string(), context: parameter }),
      state: Notes,
      inputsFromState: { user_name: "context" },
      run: (args) => seen.push(args),
    });

  it("is not asked of the model, and the model cannot give it", async () => {
    const model = new ScriptedModel([
      { tool_calls: [{ name: "search", args: { query: "a", context: "mine" } }] },
      "done",
    ]);
    for (const open of [false, true]) {
      const tool = search(z.string(), open);
      expect(Object.keys((tool.schema as z.ZodObject).shape)).toEqual(["query"]);
      await tool.invoke({ query: "a", context: "mine" }, { state: { user_name: "Alice" } } as never);
      expect(seen.pop()).toEqual({ query: "a", context: "Alice" });
      await expect(tool.invoke({ query: "a", context: "mine" }, { state: {} } as never)).rejects.toThrow(
        'no "user_name" yet',
      );
    }
    const agent = createAgent({ model, tools: [search(z.string())], stateSchema: Notes.schema });
    await agent.graph.invoke({ messages: [new HumanMessage("go")], user_name: "Alice" });
    expect(seen.pop()).toEqual({ query: "a", context: "Alice" });
  });

  it("may be missing where the parameter has a default, is optional or may be null", async () => {
    const given = async (parameter: z.ZodType) => {
      await search(parameter).invoke({ query: "a" }, { state: { user_name: null } } as never);
      return seen.pop();
    };
    expect(await given(z.string().default("nobody"))).toEqual({ query: "a", context: "nobody" });
    expect(await given(z.string().optional())).toEqual({ query: "a" });
    expect(await given(z.string().nullable())).toEqual({ query: "a", context: null });
    // Nor does the model fill what the state leaves open.
    await search(z.string().optional(), true).invoke({ query: "a", context: "mine" });
    expect(seen.pop()).toEqual({ query: "a" });
  });

  it("is checked against the parameter, and told with its key when it does not fit", async () => {
    const call = search(z.string().min(3)).invoke({ query: "a" }, { state: { user_name: "Al" } } as never);
    await expect(call).rejects.toThrow(/The state's "user_name" does not fit.*Too small/s);
  });

  it("is a copy, so that a tool cannot change the state behind its back", async () => {
    const tool = defineTool({
      name: "read",
      description: "Reads.",
      schema: z.object({ documents: z.array(z.string()), history: z.array(z.unknown()) }),
      state: Notes,
      inputsFromState: { documents: "documents", messages: "history" },
      run: ({ documents, history }) => {
        documents.push("mine");
        Object.assign(history[0] as object, { content: "mine" });
      },
    });
    const state = { documents: ["a"], messages: [new HumanMessage("hello")] };
    await tool.invoke({}, { state } as never);
    expect(state).toMatchObject({ documents: ["a"], messages: [{ content: "hello" }] });
  });
});

describe("what goes to the state", () => {
  const writing = (result: unknown, outputsToState: object) =>
    defineTool({
      name: "write",
      description: "Writes.",
      schema,
      state: Notes,
      outputsToState: outputsToState as { found: object },
      run: () => result,
    });

  it("is a field of the result, or the whole of it, and a field that is missing writes nothing", async () => {
    const outputs = { count: { source: "total" }, documents: { source: "none" }, found: {} };
    const { messages, ...update } = await updateOf(writing({ total: 7 }, outputs));
    expect(update).toEqual({ count: 7, found: { total: 7 } });
    expect(messages).toMatchObject([{ content: '{"total":7}', tool_call_id: "call_1", name: "write" }]);
  });

  it("is refused with the key when it does not fit, and when there is no such field to be had", async () => {
    await expect(updateOf(writing({ total: "7" }, { count: { source: "total" } }))).rejects.toThrow(
      '"count"',
    );
    await expect(updateOf(writing("7", { count: { source: "total" } }))).rejects.toThrow(
      'The tool gave no object, and "total" of it should go to the state.',
    );
  });

  it("is what the tool says it returns", async () => {
    const tool = defineTool({
      name: "count",
      description: "Counts.",
      schema,
      state: Notes,
      outputsToState: { count: { source: "total" } },
      returns: z.object({ total: z.number() }),
      run: () => ({ total: "7" as unknown as number }),
    });
    await expect(updateOf(tool)).rejects.toThrow(/not what it says it returns.*expected number.*total/s);
  });
});
