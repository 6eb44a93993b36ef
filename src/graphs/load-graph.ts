// Finds the graph that one entry of langgraph.json means: a compiled graph, a builder, an agent, a promise of one of
// these, or a function that makes one.
import { existsSync } from "node:fs";
import { StartupError } from "../errors.ts";
import { toReason } from "./failure.ts";
import { type Graph, isGraph, isObject } from "./graph.ts";
import type { Importer, Module } from "./importer.ts";
import type { GraphSource } from "./langgraph-json.ts";

/** Second argument of a graph factory: what the graph is wanted for (LangGraph server 1.5). */
export interface GraphRuntime {
  readonly accessContext: "threads.create_run" | "threads.read" | "threads.update" | "assistants.read";
  readonly executionRuntime: { context: unknown } | null;
}

type Factory = (config: unknown, runtime: GraphRuntime) => unknown;

export interface LoadedGraph {
  readonly source: GraphSource;
  readonly module: Module;
  readonly graph: Graph | Factory;
}

/** A file that waits for something at its top level must not hold up the others for ever. */
const LOAD_MS = 60_000;

/** @throws StartupError naming the graph, its file and the reason */
export async function loadGraph(source: GraphSource, importer: Importer): Promise<LoadedGraph> {
  const { id, file } = source;
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    reject(
      new StartupError(`Graph "${id}" was not loaded within ${LOAD_MS / 1_000} seconds.`, {
        file,
        next: "See what the file awaits while it is imported.",
      }),
    );
  }, LOAD_MS);
  try {
    return await Promise.race([find(source, importer), timeUp]);
  } finally {
    clearTimeout(timer);
  }
}

async function find(source: GraphSource, importer: Importer): Promise<LoadedGraph> {
  const module = await importFile(source, importer);
  return { source, module, graph: await findGraph(source, module) };
}

async function importFile(
  { id, file, reference, listedIn }: GraphSource,
  importer: Importer,
): Promise<Module> {
  if (!existsSync(file)) {
    throw new StartupError(`Graph "${id}": there is no file ${file}.`, {
      file: listedIn,
      next: `Correct graphs.${id}; it is "${reference}".`,
    });
  }
  try {
    return await importer.import(file);
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`Graph "${id}" cannot be imported: ${toReason(error)}.`, {
      file,
      next: `Run it alone to see where: npx tsx ${file}`,
      cause: error,
    });
  }
}

async function findGraph({ id, file, exportName }: GraphSource, module: Module): Promise<Graph | Factory> {
  if (!(exportName in module)) {
    const names = Object.keys(module).sort().join(", ") || "nothing";
    throw new StartupError(`Graph "${id}" has no export "${exportName}"; the file exports ${names}.`, {
      file,
      next: `Correct the part after the colon of graphs.${id} in langgraph.json.`,
    });
  }
  const failed = (what: string, cause: unknown) =>
    new StartupError(`Graph "${id}": ${what}: ${toReason(cause)}.`, {
      file,
      next: `Correct the export "${exportName}".`,
      cause,
    });
  const value = await Promise.resolve(module[exportName]).catch((error: unknown) => {
    throw failed(`the promise that "${exportName}" is was rejected`, error);
  });
  let graph: Graph | undefined;
  try {
    graph = toGraph(value);
  } catch (error) {
    throw failed("it cannot be compiled", error);
  }
  if (graph) return graph;
  if (typeof value === "function") return value as Factory;
  throw new StartupError(`Graph "${id}": the export "${exportName}" is not a graph.`, {
    file,
    next: "Export a compiled graph, an agent, or a function that returns one.",
  });
}

/** A compiled graph as it is, a StateGraph compiled, an agent of createAgent as its inner graph. */
export function toGraph(value: unknown): Graph | undefined {
  if (isGraph(value)) return value;
  if (!isObject(value)) return undefined;
  if (isGraph(value.graph)) return value.graph;
  if (typeof value.compile === "function") {
    const compiled: unknown = value.compile();
    return isGraph(compiled) ? compiled : undefined;
  }
  return undefined;
}
