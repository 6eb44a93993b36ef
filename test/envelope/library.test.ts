// The adapter as others use it, without a server: over streams of graphs, and of `streamEvents`. And that a change of the
// mapping is noticed: each mutant of it shows something else than the golden streams.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { MemorySaver } from "@langchain/langgraph";
import { build } from "esbuild";
import { createStreamAdapter, type Envelope, envelopeSchema } from "heddle/stream-adapter";
import { describe, expect, it } from "vitest";
import { fails, nested, parallel, recovers } from "../fixtures/envelope/graphs.ts";
import { normalise, toLines } from "../helpers/envelopes.ts";
import { collect, human } from "../helpers/sdk.ts";

const ROOT = path.resolve(import.meta.dirname, "../..");
const golden = (name: Name) =>
  readFileSync(path.join(ROOT, `test/fixtures/envelope/golden/${FILES[name]}.jsonl`), "utf8");

const GRAPHS = { nested, parallel, recovers, fails };
type Name = keyof typeof GRAPHS;
type Adapt = typeof createStreamAdapter;

/** Which golden stream shows a graph. */
const FILES = {
  nested: "nested",
  parallel: "parallel",
  recovers: "tool-error",
  fails: "child-error",
} as const;

const inputOf = (name: Name) => (name === "fails" ? { words: ["in"] } : human("hello"));

/** What a graph streams when it is asked for what the server logs, kept so that it can be read again. */
async function record(name: Name): Promise<unknown[]> {
  const items: unknown[] = [];
  // biome-ignore lint/suspicious/noExplicitAny: each graph has a state of its own.
  const graph = GRAPHS[name] as any;
  graph.checkpointer = new MemorySaver();
  const stream = await graph.stream(inputOf(name), {
    streamMode: ["values", "updates", "messages", "tools", "tasks", "custom"],
    subgraphs: true,
    version: "v2",
    configurable: { thread_id: "1" },
  });
  try {
    for await (const item of stream) items.push(item);
  } catch (error) {
    items.push(error);
  }
  return items;
}

async function* replay(items: readonly unknown[]) {
  for (const item of items) {
    if (item instanceof Error) throw item;
    yield item;
  }
}

const adapt = async (create: Adapt, name: Name, items: readonly unknown[], options = {}) => {
  const envelopes: Envelope[] = [];
  const adapter = create({ agent: name, input: inputOf(name), runId: crypto.randomUUID(), ...options });
  try {
    for await (const envelope of adapter.adapt(replay(items))) envelopes.push(envelope);
  } catch (error) {
    if (!items.includes(error)) throw error;
  }
  return envelopes;
};

const linesOf = (jsonl: string): Envelope[] =>
  jsonl
    .split("\n")
    .filter(Boolean)
    .map((line) => JSON.parse(line));

/** As the server's download shows it. */
const shown = (envelopes: readonly Envelope[]) =>
  normalise(envelopes.map((envelope) => ({ ...envelope, origin: "replay" })));

describe("the library", () => {
  it.each(["nested", "parallel", "recovers", "fails"] as const)(
    "shows of %s what the server shows",
    async (name) => {
      const envelopes = await adapt(createStreamAdapter, name, await record(name));
      expect(shown(envelopes)).toBe(golden(name));
    },
  );

  it("gives the same ids and numbers for the same stream, and others for another run", async () => {
    const items = await record("nested");
    const read = async (runId: string) =>
      (await adapt(createStreamAdapter, "nested", items, { runId })).map(({ call_id, parent_id, seq }) => [
        call_id,
        parent_id,
        seq,
      ]);
    const one = await read("one");
    expect(await read("one")).toEqual(one);
    expect((await read("two")).some(([id]) => one.some(([other]) => id === other))).toBe(false);
  });

  it("reads streamEvents as well", async () => {
    const options = { version: "v2", configurable: { thread_id: crypto.randomUUID() } } as const;
    const stream = nested.streamEvents(human("hello"), options);
    const envelopes = await collect(createStreamAdapter({ agent: "nested" }).adapt(stream));
    for (const envelope of envelopes) envelopeSchema.parse(envelope);
    const told = linesOf(golden("nested")).filter(({ type }) => type !== "subgraph_checkpoint");
    // The events tell the name that the agent has given itself, and others count otherwise.
    const lines = (list: readonly Envelope[]) =>
      toLines(list).map((line) => line.replaceAll("researcher", "research").replace(/ \d+ /, " "));
    expect(lines(envelopes)).toEqual(lines(told));
  });

  it("tells models apart that speak at the same time, and adds up what they have used", async () => {
    const chunk = (id: string, more: object) => [
      ["both:1"],
      "messages",
      [{ type: "ai", id, content: "", tool_call_chunks: [], ...more }, { ls_model_name: id }],
    ];
    const finished = (tokens: number) => ({
      response_metadata: { finish_reason: "stop" },
      usage_metadata: { input_tokens: 1, output_tokens: tokens },
    });
    const stream = [
      [[], "tasks", { id: "1", name: "both", input: {}, interrupts: [] }],
      chunk("a", { content: "one " }),
      chunk("b", { content: "uno " }),
      chunk("a", { content: "two" }),
      chunk("b", { content: "dos" }),
      chunk("b", finished(2)),
      chunk("a", { content: " three" }),
      chunk("a", finished(3)),
      [[], "tasks", { id: "1", name: "both", result: { messages: [] }, interrupts: [] }],
    ];
    const envelopes = await collect(createStreamAdapter().adapt(replay(stream)));
    expect(
      envelopes.map(({ type, payload: { model, text, usage } }) => [type, model ?? text ?? usage]),
    ).toEqual([
      ["tool_start", undefined],
      ["llm_start", "a"],
      ["llm_token", "one "],
      ["llm_start", "b"],
      ["llm_token", "uno dos"],
      ["llm_token", "two"],
      ["llm_end", { input_tokens: 1, output_tokens: 2 }],
      ["llm_token", " three"],
      ["llm_end", { input_tokens: 1, output_tokens: 3 }],
      ["tool_end", undefined],
    ]);
    expect(envelopes.at(-1)?.payload.result).toMatchObject({ usage: { input_tokens: 2, output_tokens: 5 } });
  });

  it("says what a graph begins with also where whole checkpoints are streamed", async () => {
    nested.checkpointer = new MemorySaver();
    const stream = nested.stream(human("hello"), {
      streamMode: ["checkpoints", "values", "messages", "tools", "tasks"],
      subgraphs: true,
      configurable: { thread_id: "1" },
    });
    const envelopes = await collect(createStreamAdapter({ agent: "nested" }).adapt(stream));
    const begun = envelopes.filter(({ type, payload }) => type === "tool_start" && "meta" in payload);
    expect(begun.map(({ payload }) => payload)).toMatchObject([
      { tool_name: "research", input: { messages: [{ content: "it" }] } },
      { tool_name: "file", input: { files: { "a.md": "old" } } },
    ]);
    const stored = envelopes.filter(({ type }) => type === "subgraph_checkpoint");
    expect(new Set(stored.map(({ payload }) => payload.checkpoint_id)).size).toBe(stored.length);
  });

  it("shows stacks in debug only", async () => {
    const items = await record("fails");
    const errors = async (profile: "user" | "debug") =>
      (await adapt(createStreamAdapter, "fails", items, { profile }))
        .filter(({ type }) => type === "error")
        .map(({ payload }) => payload);
    expect(await errors("user")).toEqual([
      { name: "RangeError", message: "no further", class: "RangeError" },
    ]);
    expect((await errors("debug"))[0]?.stack).toContain("graphs.ts");
  });

  it("ends all calls when the stream fails, and then fails as it did", async () => {
    const items = await record("fails");
    const seen: string[] = [];
    const reading = (async () => {
      for await (const { type, payload } of createStreamAdapter().adapt(replay(items))) {
        seen.push(`${type} ${payload.status ?? ""}`.trim());
      }
    })();
    await expect(reading).rejects.toThrow("no further");
    expect(seen.slice(-2)).toEqual(["tool_end error", "tool_end error"]);
  });

  it("refuses a window that is too short or too long, and a stream without modes", async () => {
    expect(() => createStreamAdapter({ windowMs: 80 })).toThrow("from 25 to 75");
    await expect(collect(createStreamAdapter().adapt(replay([{ words: [] }])))).rejects.toThrow("no modes");
  });
});

/** A change of the mapping: in which file, what, and which golden stream shows it. */
const MUTANTS: readonly [file: string, from: string, to: string, graph: Name][] = [
  ["calls.ts", '"llm_start" : "tool_start"', '"tool_start" : "tool_start"', "nested"],
  ["calls.ts", '"llm_end", {', '"llm_token", {', "nested"],
  ["calls.ts", "parent_id: parent?.id ?? null", "parent_id: null", "nested"],
  ["calls.ts", "finish_reason: call.said.reason ?? null", "finish_reason: null", "nested"],
  ["calls.ts", "synthetic: true", "", "fails"],
  ["calls.ts", 'say(call, "warning", { name, message });', "", "fails"],
  ["models.ts", 'payload && "llm_token", payload', "undefined, payload", "nested"],
  ["models.ts", "{ model, params, node }", "{ model, node }", "nested"],
  ["outcome.ts", "changed.add(path)", "added.add(path)", "nested"],
  ["outcome.ts", "else if (!known.has(id)) messages", "else messages", "nested"],
  ["places.ts", "args: toArguments(input)", "input: toArguments(input)", "nested"],
  ["places.ts", 'calls.say(call, "tool_update"', 'calls.say(call, "warning"', "parallel"],
  ["places.ts", "result: toToolResult(data.output)", "result: data.output", "parallel"],
  ["places.ts", 'calls.say(call, "error", error);', "", "recovers"],
  [
    "places.ts",
    "return tool && more.length === 0 ? tool.call : enclosing(task)",
    "return enclosing(task)",
    "nested",
  ],
  ["run-calls.ts", "(isChain ? open.at(-1) : undefined)", "(undefined)", "fails"],
];

/** The library with one change. */
async function loadMutant(place: number, file: string, from: string, to: string): Promise<Adapt> {
  const folder = path.join(ROOT, "node_modules/.cache/heddle-mutants");
  const outfile = path.join(folder, `${process.pid}-${place}.mjs`);
  const { outputFiles } = await build({
    entryPoints: [path.join(ROOT, "src/envelope/index.ts")],
    bundle: true,
    write: false,
    platform: "node",
    format: "esm",
    packages: "external",
    plugins: [
      {
        name: "mutant",
        setup(esbuild) {
          esbuild.onLoad({ filter: new RegExp(`/envelope/${file}$`) }, ({ path: found }) => {
            const source = readFileSync(found, "utf8");
            const contents = source.replace(from, to);
            if (contents === source) throw new Error(`${file} does not say: ${from}`);
            return { contents, loader: "ts" };
          });
        },
      },
    ],
  });
  mkdirSync(folder, { recursive: true });
  writeFileSync(outfile, outputFiles[0]?.contents ?? "");
  return (await import(pathToFileURL(outfile).href)).createStreamAdapter;
}

describe("a changed mapping", () => {
  it.each(MUTANTS.map((mutant, place) => [place, ...mutant] as const))(
    "is noticed: %i, in %s",
    async (place, file, from, to, graph) => {
      const create = await loadMutant(place, file, from, to);
      expect(shown(await adapt(create, graph, await record(graph)))).not.toBe(golden(graph));
    },
  );
});

describe("the page's example", () => {
  it("does what it says", async () => {
    const page = readFileSync(path.join(ROOT, "docs/envelope.md"), "utf8");
    const [, example = ""] = /```ts\n([\s\S]*?)```/.exec(page) ?? [];
    const [, said = ""] = /\/\/ (.*)$/m.exec(example) ?? [];
    const folder = path.join(ROOT, "node_modules/.cache/heddle-mutants");
    mkdirSync(folder, { recursive: true });
    const { outputFiles } = await build({
      stdin: { contents: example, loader: "ts", resolveDir: ROOT },
      alias: { "heddle/stream-adapter": path.join(ROOT, "src/envelope/index.ts") },
      bundle: true,
      write: false,
      platform: "node",
      format: "esm",
      packages: "external",
    });
    const file = path.join(folder, `${process.pid}-example.mjs`);
    writeFileSync(file, outputFiles[0]?.contents ?? "");
    expect((await import(pathToFileURL(file).href)).seen).toEqual(JSON.parse(said));
  });
});
