// The graphs of a run as a tree: the root, and each namespace below it that something has been heard of, with its state.

import { type Fields, isFields } from "../events/fields.ts";
import { toNode } from "../events/namespace.ts";

export type AgentStatus = "started" | "running" | "completed" | "failed" | "interrupted";

export interface TreeNode {
  readonly namespace: readonly string[];
  readonly status: AgentStatus;
  readonly graph_name: string;
  readonly children?: readonly TreeNode[];
}

/** A namespace has changed: to be told as a lifecycle event. */
export type EmitLifecycle = (namespace: readonly string[], data: Fields) => void;

export interface Tree {
  /** Something has come from a namespace: it and those above it have started. */
  hear(namespace: readonly string[]): void;
  /** A task of a namespace begins: what it is told may name the agent and the tool call behind a namespace below. */
  learn(namespace: readonly string[], task: Fields): void;
  /** A namespace is over. */
  end(namespace: readonly string[], status: "completed" | "failed"): void;
  /** The first namespace of a node that is not over. */
  findOpen(parent: readonly string[], node: string): readonly string[] | undefined;
  /** The run is over, and with it all that has not been. */
  endAll(status: "completed" | "failed" | "interrupted"): void;
  toTree(rootName: string, rootStatus: AgentStatus): TreeNode;
}

interface Entry {
  readonly namespace: readonly string[];
  readonly graphName: string;
  status: AgentStatus;
}

export function createTree(emit: EmitLifecycle): Tree {
  const entries = new Map<string, Entry>();
  /** Names that `createAgent` gives its agents, by namespace. */
  const agents = new Map<string, string>();
  /** The tool call that a task executes, by the task's id. */
  const toolCalls = new Map<string, string>();

  const start = (namespace: readonly string[]) => {
    const key = toKey(namespace);
    if (entries.has(key)) return;
    const segment = namespace.at(-1) ?? "";
    const agent = agents.get(key);
    const toolCall = agent === undefined ? undefined : toolCalls.get(segment.slice(segment.indexOf(":") + 1));
    const graphName = agent ?? toNode(segment);
    entries.set(key, { namespace, graphName, status: "started" });
    emit(namespace, {
      event: "started",
      graph_name: graphName,
      ...(toolCall === undefined ? {} : { cause: { type: "toolCall", tool_call_id: toolCall } }),
    });
  };

  const end = (entry: Entry, status: AgentStatus) => {
    if (entry.status !== "started") return;
    entry.status = status;
    emit(entry.namespace, { event: status, graph_name: entry.graphName });
  };

  const childrenOf = (namespace: readonly string[]) =>
    [...entries.values()].filter(
      (entry) =>
        entry.namespace.length === namespace.length + 1 &&
        namespace.every((segment, level) => segment === entry.namespace[level]),
    );

  const toTree = (namespace: readonly string[], graph_name: string, status: AgentStatus): TreeNode => {
    const children = childrenOf(namespace).map((child) =>
      toTree(child.namespace, child.graphName, child.status),
    );
    return { namespace, status, graph_name, ...(children.length > 0 ? { children } : {}) };
  };

  return {
    hear(namespace) {
      for (let level = 1; level <= namespace.length; level++) start(namespace.slice(0, level));
    },
    learn(namespace, { id, input, metadata }) {
      const key = toKey(namespace);
      const name = isFields(metadata) ? metadata.lc_agent_name : undefined;
      if (typeof name === "string" && name !== "" && !agents.has(key)) agents.set(key, name);
      const call = isFields(input) ? input.tool_call : Array.isArray(input) ? input.find(hasId) : undefined;
      if (typeof id === "string" && hasId(call)) toolCalls.set(id, call.id);
    },
    end(namespace, status) {
      const entry = entries.get(toKey(namespace));
      if (entry) end(entry, status);
    },
    findOpen: (parent, node) =>
      childrenOf(parent).find(
        (entry) => entry.status === "started" && toNode(entry.namespace.at(-1) ?? "") === node,
      )?.namespace,
    endAll(status) {
      for (const entry of [...entries.values()].reverse()) end(entry, status);
    },
    toTree: (rootName, rootStatus) => toTree([], rootName, rootStatus),
  };
}

const toKey = (namespace: readonly string[]) => namespace.join("\0");

const hasId = (value: unknown): value is { id: string } => isFields(value) && typeof value.id === "string";
