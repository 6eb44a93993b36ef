// The graphs that are served, by id. Finds out what an export is (compiled graph, builder, agent, promise, factory)
// and gives every graph the server's checkpointer.
import { pathToFileURL } from "node:url";
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import { AppError, StartupError } from "../errors.ts";
import { type Graph, isGraph, isObject } from "./graph.ts";
import type { GraphSource } from "./langgraph-json.ts";

/** Second argument of a graph factory: what the graph is wanted for (LangGraph server 1.5). */
export interface GraphRuntime {
  readonly accessContext: "threads.create_run" | "threads.read" | "threads.update" | "assistants.read";
  readonly executionRuntime: { context: unknown } | null;
}

export interface Graphs {
  readonly ids: readonly string[];
  has(graphId: string): boolean;
  description(graphId: string): string | undefined;
  /** The graph, with the server's checkpointer; a factory is called with `config` each time. */
  get(graphId: string, config: Record<string, unknown>, runtime: GraphRuntime): Promise<Graph>;
  /** Lets the graphs' files let go of what they hold: calls the function `close` of each that exports one. */
  close(): Promise<void>;
}

type Factory = (config: unknown, runtime: GraphRuntime) => unknown;
type Module = Record<string, unknown>;
interface Loaded {
  readonly source: GraphSource;
  readonly graph: Graph | Factory;
}

/**
 * Imports every graph.
 * @throws StartupError naming the file, when one cannot be imported or has no such export
 */
export async function loadGraphs(
  sources: readonly GraphSource[],
  checkpointer: BaseCheckpointSaver,
): Promise<Graphs> {
  const loaded = new Map<string, Loaded>();
  // A set: several graphs may come from one file.
  const modules = new Set<Module>();
  for (const source of sources) {
    const module = await importFile(source);
    modules.add(module);
    const graph = await findGraph(source, module);
    loaded.set(source.id, {
      source,
      graph: typeof graph === "function" ? graph : withCheckpointer(graph, checkpointer),
    });
  }

  const find = (graphId: string): Loaded => {
    const found = loaded.get(graphId);
    if (!found) throw new AppError("assistant_not_found", `Graph "${graphId}" is not served here.`);
    return found;
  };
  return {
    ids: [...loaded.keys()],
    has: (graphId) => loaded.has(graphId),
    description: (graphId) => loaded.get(graphId)?.source.description,
    async get(graphId, config, runtime) {
      const { source, graph } = find(graphId);
      if (typeof graph !== "function") return graph;
      const made = toGraph(await graph(config, runtime));
      if (!made) throw new Error(`The factory of graph "${source.id}" did not return a graph.`);
      return withCheckpointer(made, checkpointer);
    },
    async close() {
      await Promise.all([...modules].map(async ({ close }) => typeof close === "function" && close()));
    },
  };
}

/** A copy: the module's own graph may be in use elsewhere in this process. */
function withCheckpointer(graph: Graph, checkpointer: BaseCheckpointSaver): Graph {
  const copy = graph.withConfig({});
  copy.checkpointer = checkpointer;
  return copy;
}

async function importFile({ id, file }: GraphSource): Promise<Module> {
  try {
    return await import(pathToFileURL(file).href);
  } catch (error) {
    if (error instanceof StartupError) throw error;
    throw new StartupError(`Graph "${id}" cannot be imported: ${firstLine(error)}.`, {
      file,
      next: `Run it alone to see where: node ${file}`,
      cause: error,
    });
  }
}

async function findGraph({ id, file, exportName }: GraphSource, module: Module): Promise<Graph | Factory> {
  if (!(exportName in module)) {
    const names = Object.keys(module).join(", ") || "nothing";
    throw new StartupError(`Graph "${id}" has no export "${exportName}"; the file exports ${names}.`, {
      file,
      next: `Correct the part after the colon of graphs.${id} in langgraph.json.`,
    });
  }
  const value = await module[exportName];
  const graph = toGraph(value);
  if (graph) return graph;
  if (typeof value === "function") return value as Factory;
  throw new StartupError(`Graph "${id}": the export "${exportName}" is not a graph.`, {
    file,
    next: "Export a compiled graph, an agent, or a function that returns one.",
  });
}

/** A compiled graph as it is, a StateGraph compiled, an agent of createAgent as its inner graph. */
function toGraph(value: unknown): Graph | undefined {
  if (isGraph(value)) return value;
  if (!isObject(value)) return undefined;
  if (isGraph(value.graph)) return value.graph;
  if (typeof value.compile === "function") {
    const compiled: unknown = value.compile();
    return isGraph(compiled) ? compiled : undefined;
  }
  return undefined;
}

const firstLine = (error: unknown) =>
  String(error instanceof Error ? error.message : error)
    .split("\n")[0]
    ?.replace(/\.$/, "") ?? "";
