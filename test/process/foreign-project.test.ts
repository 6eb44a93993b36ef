// Serving somebody else's project: TypeScript as it is usually written, every kind of file, packages of its own, and
// still one LangGraph for the server and its graphs.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createTestDatabase, type TestDatabase } from "../helpers/database.ts";
import { type ForeignProject, makeForeignProject } from "../helpers/foreign-project.ts";
import { type HeddleProcess, startProcess } from "../helpers/process.ts";
import { human, lastText } from "../helpers/sdk.ts";

const FILES = {
  "package.json": { name: "somebody-elses", type: "module" },
  "tsconfig.json": {
    compilerOptions: {
      target: "es2022",
      module: "esnext",
      moduleResolution: "bundler",
      jsx: "react",
      paths: { "@words/*": ["./src/words/*"] },
    },
  },
  "keys.env": 'FROM_FILE=read\nPORT=1\nLANGGRAPH_CONFIG=\'{"typed":{"configurable":{"tone":"loud"}}}\'\n',
  "langgraph.json": {
    env: "keys.env",
    graphs: {
      typed: "./src/typed.ts:graph",
      module: "./src/module.mts:graph",
      common: "./src/common.cts:graph",
      script: "./src/script.js:graph",
      plain: "./src/plain.mjs",
      required: "./src/required.cjs:graph",
      element: "./src/element.tsx:graph",
      legacy: "./legacy/graph.ts:graph",
      wrong: "./src/wrong.ts:graph",
      missing: "./src/missing.ts:graph",
      rejected: "./src/rejected.ts:graph",
    },
  },
  "src/typed.ts": `
    import { AIMessage, BaseMessage, HumanMessage } from "@langchain/core/messages";
    import { Command, interrupt, MemorySaver, START, END, StateGraph } from "@langchain/langgraph";
    import { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
    import { Word, Shape } from "@words/list";
    import { State } from "./state.js";
    import { State as Same } from "./state";

    class Speaker { constructor(private readonly word: Word) {} say(): Shape { return { text: this.word }; } }

    export const graph = new StateGraph(State)
      .addNode("ask", (state, config) => {
        // What comes from the server's checkpointer is of its classes.
        const answer = interrupt({ all: state.messages.map((message) => message instanceof HumanMessage || message instanceof AIMessage) });
        return new Command({
          goto: "tell",
          update: { seen: {
            answer,
            same: State === Same,
            saver: Boolean((config as any).configurable?.__pregel_checkpointer instanceof BaseCheckpointSaver),
            memory: new MemorySaver() instanceof BaseCheckpointSaver,
            file: process.env.FROM_FILE,
            port: process.env.PORT,
            tone: config.configurable?.tone,
          } },
        });
      }, { ends: ["tell"] })
      .addNode("tell", (state) => ({ messages: [new AIMessage(new Speaker(Word.Hello).say().text)] }))
      .addEdge(START, "ask")
      .addEdge("tell", END);
  `,
  "src/state.ts": `
    import { Annotation, MessagesAnnotation } from "@langchain/langgraph";
    export const State = Annotation.Root({ ...MessagesAnnotation.spec, seen: Annotation<Record<string, unknown>> });
  `,
  "src/words/list.ts": `
    export enum Word { Hello = "hello from an enum" }
    export interface Shape { text: string }
  `,
  "src/build.ts": `
    import { AIMessage } from "@langchain/core/messages";
    import { MessagesAnnotation, StateGraph } from "@langchain/langgraph";
    export const build = (text: string) =>
      new StateGraph(MessagesAnnotation)
        .addNode("say", () => ({ messages: [new AIMessage(text)] }))
        .addEdge("__start__", "say")
        .compile();
  `,
  "src/module.mts": `import { build } from "./build"; export const graph = build("module");`,
  "src/script.js": `import { build } from "./build.js"; export const graph = async () => build("script");`,
  "src/plain.mjs": `
    import { FakeListChatModel } from "@langchain/core/utils/testing";
    import { createAgent } from "langchain";
    export default createAgent({ model: new FakeListChatModel({ responses: ["plain"] }), tools: [] });
  `,
  "src/element.tsx": `
    import { build } from "./build";
    const React = { createElement: (kind: string) => ({ kind }) };
    const element = <div />;
    export const graph = build(element ? "element" : "");
  `,
  ...Object.fromEntries(
    ["common.cts", "required.cjs"].map((name) => [
      `src/${name}`,
      `
        const { AIMessage } = require("@langchain/core/messages");
        const { MessagesAnnotation, StateGraph } = require("@langchain/langgraph");
        exports.graph = new StateGraph(MessagesAnnotation)
          .addNode("say", (state) => ({ messages: [new AIMessage(String(state.messages[0] instanceof require("@langchain/core/messages").HumanMessage))] }))
          .addEdge("__start__", "say");
      `,
    ]),
  ),
  // TypeScript of a package that is not of the type "module".
  "legacy/package.json": { name: "legacy" },
  "legacy/graph.ts": `
    import { HumanMessage } from "@langchain/core/messages";
    import { Annotation, StateGraph } from "@langchain/langgraph";
    import { z } from "zod";
    import { Text } from "./text";
    export const graph = new StateGraph(Annotation.Root({ messages: Annotation<any[]> }))
      .addNode("say", () => ({ messages: [new HumanMessage(z.string().parse(Text.Legacy))] }))
      .addEdge("__start__", "say")
      .compile();
  `,
  "legacy/text.ts": `export enum Text { Legacy = "legacy" }`,
  "src/wrong.ts": `export const graph: = 1;`,
  // Nobody can be there in time: it is rejected while the file is still being imported.
  "src/rejected.ts": `
    export const graph = Promise.reject(new Error("the model is away"));
    await new Promise((resolve) => setTimeout(resolve, 50));
  `,
  "src/missing.ts": `import { x } from "no-such-package"; export const graph = x;`,
};

let project: ForeignProject;
let database: TestDatabase;
let heddle: HeddleProcess;
let client: Client;
const dataDir = mkdtempSync(path.join(tmpdir(), "heddle-foreign-data-"));

beforeAll(async () => {
  project = makeForeignProject(FILES);
  database = await createTestDatabase();
  heddle = startProcess({
    env: { DATABASE_URL: database.url, DATA_DIR: dataDir, SANDBOX: "virtual" },
    args: ["--config", project.file],
  });
  client = new Client({ apiUrl: await heddle.listening(), callerOptions: { maxRetries: 0 } });
});
afterAll(async () => {
  await heddle?.stop();
  await database?.drop();
  project?.remove();
  rmSync(dataDir, { recursive: true, force: true });
});

describe("a project of somebody else", () => {
  it("shares one copy of LangGraph with the server: interrupt, Command, messages and the checkpointer", async () => {
    const { thread_id } = await client.threads.create();
    // Two turns: what the second one finds in the state comes from the server's serializer.
    await client.runs.wait(thread_id, "typed", { input: human("one") });
    await client.runs.wait(thread_id, "typed", { command: { resume: "first" } });
    const asked = await client.runs.wait(thread_id, "typed", { input: human("two") });
    expect(asked).toMatchObject({ __interrupt__: [{ value: { all: [true, true, true] } }] });
    const state = await client.runs.wait(thread_id, "typed", { command: { resume: "second" } });
    expect(lastText(state)).toBe("hello from an enum");
    expect((state as { seen: unknown }).seen).toEqual({
      answer: "second",
      same: true,
      saver: true,
      memory: true,
      file: "read",
      port: expect.not.stringMatching(/^1$/),
      tone: "loud",
    });
  });

  it.each([
    ["module", "module"],
    ["script", "script"],
    ["plain", "plain"],
    ["element", "element"],
    ["common", "true"],
    ["required", "true"],
    ["legacy", "legacy"],
  ])("has a graph in a file of another kind: %s", async (graph, text) => {
    expect(lastText(await client.runs.wait(null, graph, { input: human("hi") }))).toBe(text);
  });

  it("says which graphs were not loaded and why, at the start and in /info, without a path of the machine", async () => {
    expect(heddle.output()).toMatch(
      /graphs +typed, module, common, script, plain, required, element, legacy\n/,
    );
    expect(heddle.output()).toMatch(
      /not loaded: Graph "wrong" cannot be imported: .*Unexpected.*src\/wrong.ts/,
    );
    expect(heddle.output()).toMatch(/not loaded: .*no-such-package.* \(\.\/src\/missing.ts\)/);
    const url = heddle.output().match(/listens on (\S+)/)?.[1];
    const info = (await (await fetch(`${url}/info`)).json()) as { heddle: { failed_graphs: object[] } };
    expect(info.heddle.failed_graphs).toEqual([
      { id: "wrong", file: "./src/wrong.ts", reason: expect.stringContaining('Unexpected "="') },
      {
        id: "missing",
        file: "./src/missing.ts",
        reason: expect.stringContaining("'no-such-package' imported from ./src/missing.ts"),
      },
      {
        id: "rejected",
        file: "./src/rejected.ts",
        reason: 'Graph "rejected": the promise that "graph" is was rejected: the model is away',
      },
    ]);
    expect(JSON.stringify(info)).not.toContain(project.folder);
  });
});
