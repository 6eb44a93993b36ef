// Writes to a typed state that meet in one step, in every kind of graph: who may say how they are merged, and when.
import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { StateGraph } from "@langchain/langgraph";
import { ToolNode } from "@langchain/langgraph/prebuilt";
import fc from "fast-check";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { ScriptedModel } from "../../../test/helpers/scripted-model.ts";
import { dump, load } from "../../db/serializer.ts";
import { defineState, type StateOf } from "../define-state.ts";
import { type DefinedTool, defineTool } from "../define-tool.ts";
import { withHandler } from "./handler-write.ts";
import { createState } from "./state.ts";

type Maybe<Value> = Value | null | undefined;
const add = (current: Maybe<number>, next: Maybe<number>) => (current ?? 0) + (next ?? 0);

const Notes = defineState({
  user_name: { type: z.string() },
  documents: { type: z.array(z.string()) },
  count: { type: z.number().default(0), handlers: { add } },
  found: { type: z.unknown() },
});

describe("parallel calls of one tool", () => {
  const put = defineTool({
    name: "put",
    description: "Puts.",
    schema: z.object({ document: z.string(), amount: z.number() }),
    state: Notes,
    outputsToState: {
      documents: { source: "document" },
      count: { source: "amount", handler: "add" },
      user_name: { source: "document" },
    },
    // They end in another order than they were called in.
    async run({ document, amount }) {
      for (let turns = 20 - amount; turns > 0; turns--) await Promise.resolve();
      return { document, amount };
    },
  });
  const calls = fc.array(fc.record({ document: fc.string(), amount: fc.integer({ min: 0, max: 20 }) }), {
    minLength: 1,
    maxLength: 6,
  });
  type Call = { document: string; amount: number };
  const inAgent = (version: "v1" | "v2") => async (list: Call[]) => {
    const tool_calls = list.map((args) => ({ name: "put", args }));
    const model = new ScriptedModel([{ tool_calls }, "done"]);
    const agent = createAgent({ model, tools: [put], stateSchema: Notes.schema, version });
    return agent.graph.invoke({ messages: [new HumanMessage("go")] });
  };

  it.each([
    ["createAgent with one task for all", inAgent("v1")],
    ["createAgent with a task for each", inAgent("v2")],
    [
      "a StateGraph of a schema",
      (list: Call[]) => inToolNode(new StateGraph(Notes.graphSchema), [put], list),
    ],
    [
      "a StateGraph of an annotation",
      (list: Call[]) => inToolNode(new StateGraph(Notes.annotation), [put], list),
    ],
  ])("leave in %s what they would leave one after the other, in call order", async (_where, run) => {
    await fc.assert(
      fc.asyncProperty(calls, async (list) => {
        const one = createState(Notes);
        for (const { document, amount } of list) {
          one.set("documents", document);
          one.set("count", amount, { handlerOverride: add });
          one.set("user_name", document);
        }
        const { messages, ...values } = (await run(list)) as StateOf<typeof Notes>;
        const { messages: _, ...expected } = one.data;
        expect(values).toEqual(expected);
        const answers = messages.filter((message) => ToolMessage.isInstance(message));
        expect(answers.map(({ text }) => (JSON.parse(text) as Call).document)).toEqual(
          list.map(({ document }) => document),
        );
      }),
      { numRuns: 25 },
    );
  });

  it("keep their handlers when their writes are stored before they are merged", () => {
    const { reducer } = Notes.keys.count.reduced;
    expect(reducer(4, load(dump(withHandler("add", 3))))).toBe(7);
  });
});

it("a node names a handler as a tool does", async () => {
  const visit = () => ({ count: withHandler("add", 1) });
  const graph = new StateGraph(Notes.graphSchema)
    .addNode("once", visit)
    .addNode("again", visit)
    .addEdge("__start__", "once")
    .addEdge("__start__", "again")
    .compile();
  expect(await graph.invoke({ count: 5 })).toMatchObject({ count: 7 });
});

it("a write that names a handler the key does not have is refused with those it has", async () => {
  const write = () => ({ count: { __handler__: "sum", value: 1 } }) as never;
  for (const graph of [new StateGraph(Notes.graphSchema), new StateGraph(Notes.annotation)]) {
    const compiled = (graph as StateGraph<typeof Notes.annotation>)
      .addNode("write", write)
      .addEdge("__start__", "write")
      .compile();
    await expect(compiled.invoke({})).rejects.toThrow(
      '"count" has no handler "sum"; it has replaceValues, add',
    );
  }
});

const find = (result: unknown) =>
  defineTool({
    name: "find",
    description: "Finds.",
    schema: z.object({}),
    state: Notes,
    outputsToState: { found: {} },
    run: () => result,
  });

it.each([
  ["an Overwrite of LangGraph", { __overwrite__: ["gone"] }],
  ["the other form of it", { type: "__overwrite__", value: "gone" }],
  ["a write that names a handler", { __handler__: "replaceValues", value: "gone" }],
  ["a write that names none", { __handler__: "nobody", value: "gone" }],
])("a result that looks like %s is data", async (_what, result) => {
  for (const graph of [new StateGraph(Notes.graphSchema), new StateGraph(Notes.annotation)]) {
    const state = await inToolNode(graph, [find(result)], [{}]);
    expect(state.found).toEqual(result);
  }
});

/** Calls the first tool, once with each of the arguments, all in one step. */
async function inToolNode(
  graph: unknown,
  tools: DefinedTool[],
  calls: object[],
): Promise<StateOf<typeof Notes>> {
  const compiled = (graph as StateGraph<typeof Notes.annotation>)
    .addNode("tools", new ToolNode(tools, { handleToolErrors: false }))
    .addEdge("__start__", "tools")
    .compile();
  const name = tools[0]?.name ?? "";
  const tool_calls = calls.map((args, index) => ({ name, args: { ...args }, id: `call_${index}` }));
  return compiled.invoke({ messages: [new AIMessage({ content: "", tool_calls })] });
}
