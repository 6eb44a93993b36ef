// What assistants say of their graphs: drawing, schemas, subgraphs; over both versions of the SDK.
import path from "node:path";
import type { Client } from "@langchain/langgraph-sdk";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";

const GRAPHS = path.resolve(import.meta.dirname, "../fixtures/graphs-schemas/langgraph.json");
/** The TypeScript compiler is at work, on a machine that is busy. */
const SLOW = 180_000;
let heddle: TestApp;
let next: NextClient;

beforeAll(async () => {
  heddle = await startApp({ graphs: GRAPHS });
  next = new NextClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
});
afterAll(() => heddle.close());

const get = (route: string) => fetch(`${heddle.url}/assistants/${route}`);
const nodesOf = (drawing: { nodes: { id: unknown }[] }) => drawing.nodes.map(({ id }) => id);

describe("the drawing", () => {
  it("has the nodes and edges of the graph, with either SDK", async () => {
    for (const client of [heddle.client, next as unknown as Client]) {
      const drawing = await client.assistants.getGraph("nested");
      expect(nodesOf(drawing)).toEqual(["__start__", "first", "middle", "__end__"]);
      expect(drawing.nodes[0]).toMatchObject({ type: "schema" });
      expect(drawing.nodes[1]).toMatchObject({ type: "runnable", data: { name: "first" } });
      expect(drawing.edges).toEqual([
        { source: "__start__", target: "first", conditional: false },
        { source: "first", target: "middle", conditional: false },
        { source: "middle", target: "__end__", conditional: false },
      ]);
    }
  });

  const closed = ["__start__", "first", "middle", "__end__"];
  const once = ["__start__", "first", "middle:before", "middle:inner", "__end__"];
  const inside = ["middle:inner:innermost", "middle:inner:last"];
  const all = ["__start__", "first", "middle:before", ...inside, "__end__"];
  it.each([
    ["true", all],
    ["yes", all],
    ["1", once],
    ["2", all],
    ["0", closed],
    ["false", closed],
  ])("shows the inside of subgraphs with xray=%s", async (xray, nodes) => {
    const response = await get(`nested/graph?xray=${xray}`);
    expect(nodesOf((await response.json()) as never)).toEqual(nodes);
  });

  it.each(["deep", "-1", "1.5"])("refuses xray=%s and names it", async (xray) => {
    const response = await get(`nested/graph?xray=${xray}`);
    expect(response.status).toBe(422);
    expect(await response.text()).toMatch(/xray/);
  });

  it("of a graph from a factory is made with the assistant's configuration, and for looking at", async () => {
    const { assistant_id } = await heddle.client.assistants.create({
      graphId: "made",
      config: { configurable: { tone: "low" } },
    });
    expect(nodesOf(await heddle.client.assistants.getGraph(assistant_id))).toContain("assistants.read low");
    expect(nodesOf(await heddle.client.assistants.getGraph("made"))).toContain("assistants.read null");
  });
});

describe("the schemas", () => {
  it("of a Zod state are read from it, messages as such", async () => {
    const schemas = await heddle.client.assistants.getSchemas("zod");
    expect(schemas).toMatchObject({
      graph_id: "zod",
      state_schema: { properties: { mood: { type: "string" }, messages: { langgraph_type: "messages" } } },
      input_schema: { properties: { mood: { type: "string" } } },
      config_schema: { properties: { tone: { type: "string" } } },
      context_schema: { properties: { tone: { type: "string" } } },
    });
  });

  it(
    "of a Zod state that has no JSON schema are read from the types",
    async () => {
      expect(await heddle.client.assistants.getSchemas("custom")).toMatchObject({
        state_schema: { properties: { mood: { type: "string" }, messages: { type: "array" } } },
        config_schema: { properties: { tone: { type: "string" } } },
      });
    },
    SLOW,
  );

  it("of a StateSchema are read from it; what it does not say is null", async () => {
    const schemas = await next.assistants.getSchemas("stated");
    expect(schemas).toMatchObject({
      graph_id: "stated",
      state_schema: { properties: { size: { type: "number" }, label: { type: "string" } } },
      config_schema: null,
      context_schema: null,
    });
  });

  it(
    "of a state that only has types are read by the compiler, while the server answers others",
    async () => {
      const asked = heddle.client.assistants.getSchemas("plain");
      let longest = 0;
      let done = false;
      void asked.finally(() => {
        done = true;
      });
      while (!done) {
        const started = performance.now();
        expect((await fetch(`${heddle.url}/ok`)).status).toBe(200);
        longest = Math.max(longest, performance.now() - started);
      }
      // The compiler needs more than that even on an idle machine, if it runs in the server's own thread.
      expect(longest).toBeLessThan(3_000);
      expect(await asked).toMatchObject({
        graph_id: "plain",
        state_schema: {
          properties: { words: { type: "array", items: { type: "string" } }, count: { type: "number" } },
        },
        input_schema: { properties: { count: { type: "number" } } },
        output_schema: { properties: { count: { type: "number" } } },
        config_schema: { properties: { tone: { enum: ["high", "low"], type: "string" } } },
      });
      // Known now.
      const started = performance.now();
      await heddle.client.assistants.getSchemas("plain");
      expect(performance.now() - started).toBeLessThan(1_000);
    },
    SLOW,
  );

  it(
    "are null when there is nothing to read",
    async () => {
      const response = await get("script/schemas");
      expect(response.status).toBe(200);
      expect(await response.json()).toMatchObject({
        graph_id: "script",
        state_schema: null,
        input_schema: null,
      });
    },
    SLOW,
  );
});

describe("the subgraphs", () => {
  it(
    "are listed by namespace, with their schemas under both names",
    async () => {
      const subgraphs = await heddle.client.assistants.getSubgraphs("nested");
      expect(Object.keys(subgraphs)).toEqual(["middle"]);
      const depth = { properties: { depth: { type: "number" } } };
      expect(subgraphs.middle).toMatchObject({ state: depth, state_schema: depth, graph_id: "nested" });
      expect(Object.keys(subgraphs.middle ?? {})).toEqual(
        expect.arrayContaining(["input", "output", "config"]),
      );
    },
    SLOW,
  );

  it(
    "of subgraphs come with recurse, and alone by their namespace",
    async () => {
      const { assistants } = next;
      const all = await assistants.getSubgraphs("nested", { recurse: true });
      expect(Object.keys(all)).toEqual(["middle", "middle|inner"]);
      expect(all["middle|inner"]).toMatchObject({
        state_schema: { properties: { deepest: { type: "boolean" } } },
      });
      const keys = async (options: object) => Object.keys(await assistants.getSubgraphs("nested", options));
      expect(await keys({ namespace: "middle" })).toEqual(["middle"]);
      expect(await keys({ namespace: "middle", recurse: true })).toEqual(["middle", "middle|inner"]);
      expect(await keys({ namespace: "middle|inner" })).toEqual(["middle|inner"]);
      expect(await keys({ namespace: "mid" })).toEqual([]);
      expect(await keys({ namespace: "nothing", recurse: true })).toEqual([]);
    },
    SLOW,
  );
});

it.each(["graph", "schemas", "subgraphs", "subgraphs/middle"])(
  "of an unknown assistant are 404: %s",
  async (what) => {
    for (const id of ["nobody", "9b2c0f56-1d1e-4a4e-9d5d-3b1d8b1c6a11"]) {
      const response = await get(`${id}/${what}`);
      expect(response.status).toBe(404);
      expect(await response.text()).toBe("Assistant not found");
    }
  },
);
