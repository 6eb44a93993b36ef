// LangGraph's RemoteGraph against our server: a graph that is served is used like one that is here.
import path from "node:path";
import { Annotation, Command, GraphInterrupt, MemorySaver, StateGraph } from "@langchain/langgraph";
import { RemoteGraph } from "@langchain/langgraph/remote";
import { afterAll, beforeAll, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { collect } from "../helpers/sdk.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/conformance/langgraph.json");

let app: TestApp;
beforeAll(async () => {
  app = await startApp({ graphs: GRAPHS });
});
afterAll(() => app.close());

const remote = (graphId: string) => new RemoteGraph({ graphId, url: app.url });

async function makeThread() {
  const { thread_id } = await app.client.threads.create();
  return { configurable: { thread_id } };
}

it("invokes", async () => {
  expect(await remote("steps").invoke({ plan: ["add", "add"] })).toEqual({ plan: [], done: ["add", "add"] });
});

it("invokes on a thread, which remembers", async () => {
  const config = await makeThread();
  await remote("nested").invoke({ trail: ["start"] }, config);
  expect(await remote("nested").invoke({ trail: ["again"] }, config)).toEqual({
    trail: ["start", "outer", "middle", "inner", "again"],
  });
});

it("streams one mode, and several", async () => {
  const updates = await collect(await remote("steps").stream({ plan: ["add"] }, { streamMode: "updates" }));
  expect(updates).toEqual([{ act: { plan: [], done: ["add"] } }]);
  const mixed = await collect(
    await remote("steps").stream({ plan: ["write"] }, { streamMode: ["custom", "values"] }),
  );
  expect(mixed.map(([mode]) => mode)).toEqual(["values", "custom", "values"]);
});

it("streams subgraphs with their namespaces", async () => {
  const chunks = await collect(
    await remote("nested").stream({ trail: [] }, { streamMode: "updates", subgraphs: true }),
  );
  const namespaces = chunks.map(([namespace]) =>
    namespace.map((part: string) => part.split(":")[0]).join("/"),
  );
  expect(namespaces).toEqual(["", "middle", "middle/inner", "middle", ""]);
});

it("streams messages", async () => {
  const chunks = await collect(
    await remote("agent").stream(
      { messages: [{ role: "user", content: "hello" }] },
      { streamMode: "messages" },
    ),
  );
  expect(chunks.map(([message]) => message.content).join("")).toBe("You said: hello");
});

it("throws what the graph throws", async () => {
  await expect(remote("steps").invoke({ plan: ["fail"] })).rejects.toThrow("asked to fail");
});

it("stops at an interrupt and goes on with the answer", async () => {
  const config = await makeThread();
  const stopped = await remote("steps")
    .invoke({ plan: ["ask"] }, config)
    .catch((error: unknown) => error);
  expect(stopped).toBeInstanceOf(GraphInterrupt);
  expect((stopped as GraphInterrupt).interrupts[0]?.value).toEqual({ question: "which?" });
  const ended = await remote("steps").invoke(new Command({ resume: "this" }), config);
  expect(ended).toEqual({ plan: [], done: ["asked: this"] });
});

it("reads and changes the state, and its history", async () => {
  const config = await makeThread();
  await remote("steps").invoke({ plan: ["add", "add"] }, config);
  const state = await remote("steps").getState(config);
  expect(state.values).toEqual({ plan: [], done: ["add", "add"] });
  expect(state.next).toEqual([]);
  await remote("steps").updateState(config, { done: ["by hand"] }, "act");
  const history = await collect(remote("steps").getStateHistory(config));
  expect(history[0]?.values).toEqual({ plan: [], done: ["add", "add", "by hand"] });
  expect(history).toHaveLength(5);
  const { configurable } = history[1]?.config ?? {};
  expect((await remote("steps").getState({ configurable: configurable ?? {} })).values).toEqual(state.values);
});

it("draws the graph and knows its subgraphs", async () => {
  const { nodes, edges } = await remote("nested").getGraphAsync();
  expect(Object.keys(nodes)).toEqual(["__start__", "outer_step", "middle", "__end__"]);
  expect(edges.map(({ source, target }) => [source, target])).toContainEqual(["outer_step", "middle"]);
  const subgraphs = await collect(remote("nested").getSubgraphsAsync(undefined, true));
  expect(subgraphs.map(([name]) => name)).toEqual(["middle", "middle|inner"]);
});

it("is a node of another graph, and its interrupt stops that one as well", async () => {
  const State = Annotation.Root({ plan: Annotation<string[]>, done: Annotation<string[]> });
  const outer = new StateGraph(State)
    .addNode("remote", remote("steps"))
    .addEdge("__start__", "remote")
    .compile({ checkpointer: new MemorySaver() });
  const first = await makeThread();
  expect(await outer.invoke({ plan: ["add"], done: [] }, first)).toMatchObject({ done: ["add"] });
  expect(await outer.invoke({ plan: ["ask"], done: [] }, await makeThread())).toMatchObject({
    __interrupt__: [{ value: { question: "which?" } }],
  });
});
