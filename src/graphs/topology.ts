// The shape of a graph, from its drawing: what a stored state of it needs in order to go on. Two graphs of one version
// have the same executors with the same ways between them.
import { createHash } from "node:crypto";
import type { Graph } from "./graph.ts";

export interface Topology {
  /** Of all of it; what a thread's checkpoints note as `graph_version`. */
  readonly version: string;
  /** Node (those of subgraphs as "outer:inner") to where it leads, sorted; "?" marks a way that is taken or not. */
  readonly executors: Readonly<Record<string, readonly string[]>>;
}

interface Drawing {
  readonly nodes?: readonly { readonly id: unknown }[];
  readonly edges?: readonly {
    readonly source: unknown;
    readonly target: unknown;
    readonly conditional?: boolean;
  }[];
}

/** A graph is drawn once; one that cannot be drawn has no executors. */
export function createTopologies(): { of(graph: Graph): Promise<Topology> } {
  const known = new WeakMap<Graph, Promise<Topology>>();
  return {
    of(graph) {
      const found = known.get(graph) ?? read(graph);
      known.set(graph, found);
      return found;
    },
  };
}

export type Topologies = ReturnType<typeof createTopologies>;

async function read(graph: Graph): Promise<Topology> {
  let drawing: Drawing = {};
  try {
    drawing = (await graph.getGraphAsync({ xray: true })).toJSON();
  } catch {
    // A name that a router can give, and no node has: such a graph runs all the same.
  }
  return toTopology(drawing);
}

export function toTopology({ nodes = [], edges = [] }: Drawing): Topology {
  const ids = nodes.map(({ id }) => String(id)).filter((id) => id !== "__end__");
  const executors = Object.fromEntries(
    ids.sort().map((id) => [
      id,
      edges
        .filter(({ source }) => source === id)
        .map(({ target, conditional }) => `${target}${conditional ? "?" : ""}`)
        .sort(),
    ]),
  );
  const version = createHash("sha256").update(JSON.stringify(executors)).digest("hex").slice(0, 16);
  return { version, executors };
}

/** How two shapes differ, by executor. */
export interface Difference {
  /** In the first one only. */
  readonly missing: readonly string[];
  /** In the second one only. */
  readonly added: readonly string[];
  /** In both, leading elsewhere. */
  readonly changed: readonly string[];
}

export function compareTopologies(
  { executors: before }: Pick<Topology, "executors">,
  { executors: after }: Pick<Topology, "executors">,
): Difference {
  const names = Object.keys(before);
  return {
    missing: names.filter((name) => !Object.hasOwn(after, name)),
    added: Object.keys(after).filter((name) => !Object.hasOwn(before, name)),
    changed: names.filter(
      (name) => Object.hasOwn(after, name) && JSON.stringify(before[name]) !== JSON.stringify(after[name]),
    ),
  };
}
