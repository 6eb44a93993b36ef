// The thread protocol through the official SDKs, in the three versions that clients have: 1.11 (nested in
// @langchain/react), 1.12.4 and 1.15.0; over SSE and over WebSocket. And: both protocols give the same for the same graph.
import { createRequire } from "node:module";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { Client as NextClient } from "langgraph-sdk-next";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startApp, type TestApp } from "../helpers/app.ts";
import { endOf, openStream, postCommand } from "../helpers/protocol.ts";
import { collect, human } from "../helpers/sdk.ts";

const graphs = path.resolve(import.meta.dirname, "../fixtures/protocol/langgraph.json");
const words = (...list: string[]) => ({ words: list });

let heddle: TestApp;
beforeAll(async () => {
  heddle = await startApp({ graphs });
});
afterAll(() => heddle.close());

/** The SDK that @langchain/react brings. */
async function loadNested(): Promise<typeof Client> {
  const fromReact = createRequire(createRequire(import.meta.url).resolve("@langchain/react"));
  const { Client } = await import(pathToFileURL(fromReact.resolve("@langchain/langgraph-sdk")).href);
  return Client;
}

const CLIENTS = {
  "1.11": loadNested,
  "1.12.4": async () => Client,
  "1.15.0": async () => NextClient as unknown as typeof Client,
};

describe.each(Object.entries(CLIENTS))("SDK %s", (_, load) => {
  describe.each(["sse", "websocket"] as const)("over %s", (transport) => {
    const open = async (assistantId: string, threadId?: string) => {
      const SdkClient = await load();
      const client = new SdkClient({ apiUrl: heddle.url, callerOptions: { maxRetries: 0 } });
      return client.threads.stream(threadId ?? crypto.randomUUID(), { assistantId, transport });
    };

    it("runs a graph: values, output, messages", async () => {
      const thread = await open("plain");
      const texts: string[] = [];
      const reading = (async () => {
        for await (const message of thread.messages) texts.push(await message.text);
      })();
      await thread.run.start({ input: human("hello") });
      const output = (await thread.output) as { messages: { content: unknown }[] };
      expect(output.messages.at(-1)?.content).toBe("seen as string");
      await reading;
      expect(texts).toEqual(["you said hello", "seen as string"]);
      await thread.close();
    });

    it("follows an agent with a tool", async () => {
      const thread = await open("agent");
      // The SDK tells of a call when it begins and when it has ended.
      const calls = new Map<string, unknown>();
      const reading = (async () => {
        for await (const call of thread.toolCalls) calls.set(call.name, await call.output);
      })();
      await thread.run.start({ input: human("weather?") });
      const output = (await thread.output) as { messages: { content: unknown }[] };
      await reading;
      expect(output.messages.at(-1)?.content).toBe("It is sunny in Bonn.");
      expect([...calls]).toEqual([["weather", "sunny in Bonn"]]);
      await thread.close();
    });

    it("answers an interrupt of a subgraph", async () => {
      const thread = await open("asks");
      await thread.run.start({ input: words("in") });
      await thread.output;
      expect(thread.interrupted).toBe(true);
      const [interrupt] = thread.interrupts;
      expect(interrupt?.payload).toEqual({ question: "which?" });
      await thread.input.respond({
        namespace: interrupt?.namespace ?? [],
        interrupt_id: interrupt?.interruptId ?? "",
        response: "this",
      });
      const state = async () => {
        const { values } = await thread.state.get({ namespace: [] });
        return (values as { words: string[] }).words.at(-1);
      };
      await expect.poll(state).toMatch(/^after/);
      await thread.close();
    });

    it("sees subgraphs, custom events and a failure", async () => {
      const nested = await open("nested");
      const subscription = await nested.subscribe(["values"], { namespaces: [["middle", "inner"]] });
      await nested.run.start({ input: words("in") });
      const values = await collect<{ params: { namespace: string[] } }>(subscription);
      expect(values.length).toBeGreaterThan(0);
      expect(values.every(({ params }) => params.namespace.length === 2)).toBe(true);
      expect((await nested.agent.getTree()).tree.children?.[0]?.graph_name).toBe("middle");
      await nested.close();

      const writes = await open("writes");
      const steps = await writes.subscribe("custom:steps");
      await writes.run.start({ input: words("in") });
      expect(await collect(steps)).toEqual([{ done: 1 }]);
      await writes.close();

      const fails = await open("fails");
      const lifecycle = await fails.subscribe(["lifecycle"]);
      await fails.run.start({ input: words("in") });
      const events = await collect<{ params: { data: unknown } }>(lifecycle);
      expect(events.at(-1)?.params.data).toMatchObject({ event: "failed", error: "no further" });
      await fails.close();
    });

    it("hears what the graph's stream transformers tell, live and again", async () => {
      const threadId = crypto.randomUUID();
      const thread = await open("counted", threadId);
      const texts = await thread.subscribe("custom:texts");
      await thread.run.start({ input: human("count") });
      expect((await collect<string>(texts)).join("")).toBe("one two three");
      await thread.close();
      const again = await open("counted", threadId);
      const total = await again.subscribe("custom:total");
      const { value: last } = await total[Symbol.asyncIterator]().next();
      const { texts: count, methods } = last as { texts: number; methods: string[] };
      expect(count).toBeGreaterThan(1);
      expect(methods).toEqual(
        expect.arrayContaining([
          "checkpoints",
          "custom",
          "lifecycle",
          "messages",
          "tasks",
          "updates",
          "values",
        ]),
      );
      await again.close();
    });

    it("goes on with another run on the same thread, and finds it all again from another client", async () => {
      const threadId = crypto.randomUUID();
      const thread = await open("plain", threadId);
      await thread.run.start({ input: human("one") });
      await thread.output;
      await thread.close();
      const again = await open("plain", threadId);
      const subscription = await again.subscribe(["lifecycle"]);
      const iterator = subscription[Symbol.asyncIterator]();
      const first = await iterator.next();
      expect(first.value?.params.data.event).toBe("running");
      await again.close();
    });
  });
});

describe("a graph with stream transformers", () => {
  it.each(["stumbles", "promises"])("ends as without them when they fail: %s", async (graph) => {
    const threadId = crypto.randomUUID();
    await postCommand(heddle.url, threadId, "run.start", { assistant_id: graph, input: human("go") });
    const stream = await openStream(heddle.url, threadId);
    const frames = await stream.until(endOf(1));
    stream.close();
    expect(frames.at(-1)?.params.data).toMatchObject({ event: "completed" });
    const customs = frames.filter(({ method }) => method === "custom").map(({ params }) => params.data);
    expect(customs).toEqual([{ payload: { from: "the graph" } }]);
  });

  it("is not transformed over the older protocol", async () => {
    const parts = await collect<{ event: string; data: unknown }>(
      heddle.client.runs.stream(null, "counted", { input: human("go"), streamMode: "custom" }),
    );
    expect(parts.filter(({ event }) => event === "custom").map(({ data }) => data)).toEqual([
      { from: "the graph" },
    ]);
  });
});

describe("both protocols", () => {
  /** What no two runs have in common. */
  const plain = (value: unknown) =>
    JSON.parse(
      JSON.stringify(value, (key, part) =>
        key === "id" || key === "run_id" || key === "tool_call_id" ? undefined : part,
      ),
    );

  it.each([
    ["plain", human("hello")],
    ["agent", human("weather?")],
    ["nested", words("in")],
    ["asks", words("in")],
    ["fails", words("in")],
    ["writes", words("in")],
    ["parallel", human("go")],
  ] as const)("give the same for %s", async (graph, input) => {
    const { thread_id } = await heddle.client.threads.create();
    const legacy = await collect(
      heddle.client.runs.stream(thread_id, graph, {
        input,
        streamMode: ["values", "updates", "messages-tuple", "custom"],
        streamSubgraphs: true,
      }),
    );
    const threadId = crypto.randomUUID();
    await postCommand(heddle.url, threadId, "run.start", { assistant_id: graph, input });
    const stream = await openStream(heddle.url, threadId);
    const frames = await stream.until(endOf(1));
    stream.close();

    const before = await heddle.client.threads.getState(thread_id);
    const after = await heddle.client.threads.getState(threadId);
    expect(plain(after.values)).toEqual(plain(before.values));
    expect(after.next).toEqual(before.next);
    expect(after.tasks.map(({ name, interrupts }) => [name, interrupts.map(({ value }) => value)])).toEqual(
      before.tasks.map(({ name, interrupts }) => [name, interrupts.map(({ value }) => value)]),
    );

    const states = legacy
      .filter(({ event, data }) => event.startsWith("values") && !("__interrupt__" in (data as object)))
      .map(({ data }) => data);
    const shown = frames.filter(({ method }) => method === "values").map(({ params }) => params.data);
    expect(plain(shown)).toEqual(plain(states));

    // The words of each model, as they were streamed.
    const spoken = new Map<string, string>();
    for (const { event, data } of legacy) {
      if (!event.startsWith("messages")) continue;
      const [message] = data as unknown as [{ id: string; type: string; content: string }];
      if (message.type === "ai") spoken.set(message.id, (spoken.get(message.id) ?? "") + message.content);
    }
    const heard = new Map<string, string>();
    for (const { method, params } of frames) {
      if (method !== "messages" || params.data.delta?.type !== "text-delta") continue;
      heard.set(params.data.run_id, (heard.get(params.data.run_id) ?? "") + params.data.delta.text);
    }
    expect([...heard.values()].sort()).toEqual([...spoken.values()].filter((text) => text !== "").sort());
  });
});
