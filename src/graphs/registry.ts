// The graphs that are served, by id, each with the server's checkpointer; and those that could not be loaded, with the
// reason.
import type { BaseCheckpointSaver } from "@langchain/langgraph-checkpoint";
import type { Logger } from "pino";
import { AppError } from "../errors.ts";
import { type GraphFailure, hideFolders, toReason } from "./failure.ts";
import type { Graph } from "./graph.ts";
import type { Importer, Module } from "./importer.ts";
import type { Project } from "./langgraph-json.ts";
import { type GraphRuntime, type LoadedGraph, loadGraph, toGraph } from "./load-graph.ts";

export type { GraphRuntime };

export interface Graphs {
  /** Those that were loaded. */
  readonly ids: readonly string[];
  readonly failures: readonly GraphFailure[];
  /** Whether langgraph.json names it; it may have failed to load. */
  has(graphId: string): boolean;
  /** @throws AppError assistant_not_found when langgraph.json does not name it, graph_not_loaded */
  expect(graphId: string): void;
  description(graphId: string): string | undefined;
  /**
   * The graph, with the server's checkpointer; a factory is called with `config` each time.
   * @throws AppError as `expect` does, and graph_not_loaded when a factory fails to make a graph to look at; what a
   * factory throws when it is to make one for a run is that run's error, and is thrown as it is
   */
  get(graphId: string, config: Record<string, unknown>, runtime: GraphRuntime): Promise<Graph>;
  /** Lets the graphs' files let go of what they hold: calls the function `close` of each that exports one. */
  close(): Promise<void>;
}

interface Options {
  readonly project: Pick<Project, "folder" | "graphs">;
  readonly importer: Importer;
  readonly checkpointer: BaseCheckpointSaver;
  readonly log: Logger;
}

/**
 * Imports every graph. One that cannot be loaded does not keep the others from being served.
 * @throws StartupError of the first one, when none can be loaded
 */
export async function loadGraphs({ project, importer, checkpointer, log }: Options): Promise<Graphs> {
  const loaded = new Map<string, LoadedGraph>();
  const failures = new Map<string, GraphFailure>();
  const logLines: object[] = [];
  let first: unknown;
  for (const source of project.graphs) {
    try {
      const found = await loadGraph(source, importer);
      loaded.set(
        source.id,
        typeof found.graph === "function" ? found : { ...found, graph: serve(found.graph) },
      );
    } catch (error) {
      first ??= error;
      const reason = hideFolders(toReason(error), project.folder);
      const cause = error instanceof Error ? error.cause : undefined;
      logLines.push({ err: cause, graph: source.id, file: source.file, reason });
      failures.set(source.id, { id: source.id, file: hideFolders(source.file, project.folder), reason });
    }
  }
  if (loaded.size === 0) throw first;
  for (const line of logLines) log.error(line, "a graph could not be loaded");

  /** A copy: the module's own graph may be in use elsewhere in this process. */
  function serve(graph: Graph): Graph {
    const copy = graph.withConfig({});
    copy.checkpointer = checkpointer;
    return copy;
  }

  const find = (graphId: string): LoadedGraph => {
    const found = loaded.get(graphId);
    if (found) return found;
    const failure = failures.get(graphId);
    if (failure) throw new AppError("graph_not_loaded", failure.reason);
    throw new AppError("assistant_not_found", `Graph "${graphId}" is not served here.`);
  };
  const make = async (graphId: string, factory: () => unknown): Promise<Graph> => {
    const graph = toGraph(await factory());
    if (!graph) {
      throw new AppError("graph_not_loaded", `The factory of graph "${graphId}" did not return a graph.`);
    }
    return serve(graph);
  };
  return {
    ids: [...loaded.keys()],
    failures: [...failures.values()],
    has: (graphId) => loaded.has(graphId) || failures.has(graphId),
    expect: (graphId) => void find(graphId),
    description: (graphId) => project.graphs.find(({ id }) => id === graphId)?.description,
    async get(graphId, config, runtime) {
      const { graph } = find(graphId);
      if (typeof graph !== "function") return graph;
      const made = make(graphId, () => graph(config, runtime));
      if (runtime.accessContext === "threads.create_run") return made;
      return made.catch((error: unknown) => {
        if (error instanceof AppError) throw error;
        const reason = hideFolders(toReason(error), project.folder);
        throw new AppError("graph_not_loaded", `The factory of graph "${graphId}" failed: ${reason}.`, {
          cause: error,
        });
      });
    },
    async close() {
      // A set: several graphs may come from one file.
      const modules = new Set<Module>([...loaded.values()].map(({ module }) => module));
      await Promise.all([...modules].map(async ({ close }) => typeof close === "function" && close()));
    },
  };
}
