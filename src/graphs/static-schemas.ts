// The JSON schemas that the types of a graph's file give, by the official parser. It runs once per graph, when it is
// first asked for, one graph at a time: it takes two cores and some hundred megabytes.
import { Worker } from "node:worker_threads";
import type { GraphSource } from "./langgraph-json.ts";

export interface GraphSchema {
  readonly state?: object | undefined;
  readonly input?: object | undefined;
  readonly output?: object | undefined;
  readonly config?: object | undefined;
}

export interface StaticSchemas {
  /** Of the graph and its subgraphs, by name: `graph`, `graph|node`, … Rejects when the types cannot be read. */
  of(source: GraphSource): Promise<Readonly<Record<string, GraphSchema>>>;
  /** Ends what is under way: it rejects. */
  close(): Promise<void>;
}

/** The compiler takes 2 to 4 seconds on an idle machine. */
const PARSE_MS = 120_000;
const MAX_HEAP_MB = 1_536;

export function createStaticSchemas(): StaticSchemas {
  const cache = new Map<string, Promise<Record<string, GraphSchema>>>();
  let last: Promise<unknown> = Promise.resolve();
  let worker: Worker | undefined;
  let closed = false;

  const parse = async ({ file, exportName }: GraphSource): Promise<Record<string, GraphSchema>> => {
    if (closed) throw new Error("the server is stopping");
    const { promise, resolve, reject } = Promise.withResolvers<Record<string, GraphSchema>>();
    worker = new Worker(new URL("./schema-worker.ts", import.meta.url), {
      workerData: { sourceFile: file, exportSymbol: exportName },
      env: {},
      argv: [],
      execArgv: [],
      // What the compiler has to say about the file is not for our output.
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB },
    });
    worker.once("message", resolve);
    worker.once("error", reject);
    worker.once("exit", () => reject(new Error("the parser ended without an answer")));
    const timer = setTimeout(() => reject(new Error("the parser took too long")), PARSE_MS);
    try {
      return await promise;
    } finally {
      clearTimeout(timer);
      await worker.terminate();
    }
  };

  return {
    of(source) {
      const known = cache.get(source.id);
      if (known) return known;
      const schemas = last.then(() => parse(source));
      last = schemas.catch(() => undefined);
      cache.set(source.id, schemas);
      return schemas;
    },
    async close() {
      closed = true;
      await worker?.terminate();
      await last;
    },
  };
}
