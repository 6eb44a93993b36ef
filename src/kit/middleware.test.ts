import { type BaseMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { Command, MemorySaver } from "@langchain/langgraph";
import {
  type AgentMiddleware,
  createAgent,
  createMiddleware,
  humanInTheLoopMiddleware,
  modelRetryMiddleware,
  toolRetryMiddleware,
} from "langchain";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ScriptedModel } from "../../test/helpers/scripted-model.ts";
import { defineState } from "./define-state.ts";
import { middlewareOf } from "./fuse/failure.ts";
import type { MergeHandler } from "./merge.ts";
import { fuseMiddlewares } from "./middleware.ts";

const stateSchema = defineState({ trail: { type: z.array(z.string()) } }).schema;

const echo = tool(({ text }) => `echo ${text}`, {
  name: "echo",
  description: "Echoes.",
  schema: z.object({ text: z.string() }),
});

/** Runs a chain with a checkpointer and gives what a client of the `updates` stream sees, and the checkpoints. */
async function trace(middleware: AgentMiddleware[], script: ConstructorParameters<typeof ScriptedModel>[0]) {
  const checkpointer = new MemorySaver();
  const agent = createAgent({ model: new ScriptedModel(script), tools: [echo], middleware, checkpointer });
  const config = { configurable: { thread_id: "t" } };
  const updates: Record<string, Record<string, unknown> | undefined>[] = [];
  const stream = await agent.graph.stream(
    { messages: [new HumanMessage("hi")] },
    { ...config, streamMode: "updates" },
  );
  for await (const update of stream) updates.push(update);
  let checkpoints = 0;
  for await (const _checkpoint of checkpointer.list(config)) checkpoints++;
  return { updates, nodes: updates.flatMap((update) => Object.keys(update)), checkpoints };
}

const hookNames = ["beforeAgent", "beforeModel", "afterModel", "afterAgent"] as const;
const toEverything = (name: string) =>
  createMiddleware({
    name,
    stateSchema,
    ...Object.fromEntries(hookNames.map((hook) => [hook, () => ({ trail: [`${name}.${hook}`] })])),
  });

describe("the cost of a chain of five middlewares with all four hooks", () => {
  const list = ["a", "b", "c", "d", "e"].map(toEverything);

  test("is one superstep per kind of hook when fused, and one per hook when not", async () => {
    const fused = await trace([fuseMiddlewares("chain", list)], ["hello"]);
    expect(fused.nodes).toEqual([
      "chain.before_agent",
      "chain.before_model",
      "model_request",
      "chain.after_model",
      "chain.after_agent",
    ]);
    const unfused = await trace(list, ["hello"]);
    expect(unfused.nodes).toHaveLength(21);
    // Two more than nodes: the input, and the state it finds.
    expect([fused.checkpoints, unfused.checkpoints]).toEqual([7, 23]);
  });

  test("does not grow with a turn: nothing that was only read is written back", async () => {
    const { updates } = await trace([fuseMiddlewares("chain", list)], ["hello"]);
    const keys = updates.map((update) => Object.keys(Object.values(update)[0] ?? {}));
    expect(keys.map((list) => list.filter((key) => key !== "jumpTo"))).toEqual([
      ["trail"],
      ["trail"],
      ["messages"],
      ["trail"],
      ["trail"],
    ]);
  });
});

test("a chain without before and after hooks adds no superstep", async () => {
  const { nodes } = await trace(
    [fuseMiddlewares("chain", [toolRetryMiddleware(), modelRetryMiddleware()])],
    ["hello"],
  );
  expect(nodes).toEqual(["model_request"]);
});

test("a key that one hook clears and the next one fills ends as the channels would have it", async () => {
  const Images = defineState({
    images: {
      type: z.record(z.string(), z.string()).default({}),
      handler: (current, next) => (next && Object.keys(next).length === 0 ? {} : { ...current, ...next }),
    },
  });
  const write = (name: string, images: Record<string, string>) =>
    createMiddleware({ name, stateSchema: Images.schema, beforeAgent: () => ({ images }) });
  const agent = createAgent({
    model: new ScriptedModel(["hello"]),
    stateSchema: Images.schema,
    middleware: [fuseMiddlewares("chain", [write("clear", {}), write("fill", { b: "new" })])],
  });
  const state = await agent.graph.invoke({ messages: [new HumanMessage("hi")], images: { a: "old" } });
  expect(state.images).toEqual({ b: "new" });
});

test("messages that one hook removes and the next one adds end as the channels would have it", async () => {
  const write = (name: string, messages: (state: { messages: BaseMessage[] }) => BaseMessage[]) =>
    createMiddleware({ name, beforeAgent: (state) => ({ messages: messages(state) }) });
  const list = [
    write("remove", ({ messages }) =>
      messages.slice(0, 1).map(({ id }) => new RemoveMessage({ id: id ?? "" })),
    ),
    write("add", () => [new HumanMessage({ id: "1", content: "added again, at the end" })]),
  ];
  const texts = async (middleware: AgentMiddleware[]) => {
    const agent = createAgent({ model: new ScriptedModel(["hello"]), middleware });
    const input = ["1", "2"].map((id) => new HumanMessage({ id, content: id }));
    const { messages } = await agent.graph.invoke({ messages: input });
    return messages.map(({ text }) => text);
  };
  expect(await texts([fuseMiddlewares("chain", list)])).toEqual(await texts(list));
});

describe("an error in a fused chain", () => {
  const calm = createMiddleware({ name: "calm", wrapModelCall: (request, handler) => handler(request) });
  const fail = () => {
    throw new TypeError("broken");
  };
  const failure = async (
    middleware: AgentMiddleware[],
    script: ConstructorParameters<typeof ScriptedModel>[0],
  ) => {
    const agent = createAgent({ model: new ScriptedModel(script), tools: [echo], middleware });
    return agent.graph.invoke({ messages: [new HumanMessage("hi")] }).then(
      () => undefined,
      (error: unknown) => error,
    );
  };
  const callsTool = [{ tool_calls: [{ name: "echo", args: { text: "a" } }] }, "done"];

  test.each(["beforeAgent", "beforeModel", "afterModel", "afterAgent", "wrapModelCall", "wrapToolCall"])(
    "keeps its class, its message and the name of the middleware that threw it in %s",
    async (hook) => {
      const broken = createMiddleware({ name: "broken", [hook]: fail });
      const error = await failure([fuseMiddlewares("chain", [calm, broken])], callsTool);
      expect(error).toMatchObject({ name: "TypeError", message: "broken" });
      expect(middlewareOf(error)).toBe("broken");
    },
  );

  test("of the model is no middleware's error", async () => {
    const error = await failure([fuseMiddlewares("chain", [calm])], [new Error("no answer")]);
    expect(error).toMatchObject({ message: "no answer" });
    expect(middlewareOf(error)).toBeUndefined();
  });

  test("that is no Error becomes one, with the middleware's name", async () => {
    const rude = createMiddleware({ name: "rude", beforeAgent: () => Promise.reject("just text") });
    const error = await failure([fuseMiddlewares("chain", [rude])], ["hello"]);
    expect(error).toBeInstanceOf(Error);
    expect([(error as Error).message, middlewareOf(error)]).toEqual(["just text", "rude"]);
  });

  test("is made of a jump that was not declared, a wrong return value and a name used twice", async () => {
    const jumper = createMiddleware({ name: "jumper", beforeAgent: () => ({ jumpTo: "end" as const }) });
    expect(await failure([fuseMiddlewares("chain", [jumper])], ["hello"])).toMatchObject({
      message: expect.stringContaining('Invalid jump target "end" in beforeAgent of middleware "jumper"'),
    });
    const odd = createMiddleware({ name: "odd", wrapModelCall: () => "text" as never });
    expect(await failure([fuseMiddlewares("chain", [odd])], ["hello"])).toMatchObject({
      message: expect.stringContaining('middleware "odd" must return an AIMessage'),
    });
    expect(() => fuseMiddlewares("chain", [calm, calm])).toThrow("calm is defined multiple times");
  });
});

test("an interrupt of a fused middleware stops the run and resumes it", async () => {
  const chain = fuseMiddlewares("chain", [
    toEverything("other"),
    humanInTheLoopMiddleware({ interruptOn: { echo: true } }),
  ]);
  const agent = createAgent({
    model: new ScriptedModel([{ tool_calls: [{ name: "echo", args: { text: "asked" } }] }, "done"]),
    tools: [echo],
    middleware: [chain],
    checkpointer: new MemorySaver(),
  });
  const config = { configurable: { thread_id: "t" } };
  const stopped = await agent.graph.invoke({ messages: [new HumanMessage("hi")] }, config);
  expect(stopped).toHaveProperty("__interrupt__");
  const resumed = await agent.graph.invoke(
    new Command({ resume: { decisions: [{ type: "approve" }] } }),
    config,
  );
  expect(resumed.messages.map(({ text }) => text)).toEqual(["hi", "", "echo asked", "done"]);
});

test("a key that two middlewares declare has the handler of the first, as in createAgent", async () => {
  const declare = (name: string, handler: MergeHandler<number>) =>
    createMiddleware({
      name,
      stateSchema: defineState({ count: { type: z.number(), handler } }).schema,
      beforeAgent: () => ({ count: 1 }),
      afterAgent: () => ({ count: 10 }),
    });
  const list = [
    declare("largest", (current, next) => Math.max(current ?? 0, next ?? 0)),
    declare("smallest", (current, next) => Math.min(current ?? 0, next ?? 0)),
  ];
  const count = async (middleware: AgentMiddleware[]) => {
    const agent = createAgent({ model: new ScriptedModel(["hello"]), middleware });
    const state: object = await agent.graph.invoke({ messages: [new HumanMessage("hi")] });
    return "count" in state ? state.count : undefined;
  };
  expect(await count([fuseMiddlewares("chain", list)])).toBe(10);
  expect(await count(list)).toBe(10);
});
