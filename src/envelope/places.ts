// Where the calls of a run are: graphs by their namespace, tools by the task that runs them. LangGraph names a task
// `node:<id>`; what a task runs has the task's namespace, be it a graph or a tool, and a second graph of one task has a
// number behind it.
import { type Fields, isFields } from "../events/fields.ts";
import { sameNamespace, toNode } from "../events/namespace.ts";
import { type Call, type Calls, type Status, toArguments, toToolResult } from "./calls.ts";

type Path = readonly string[];

export interface Places {
  root(): Call;
  openRoot(payload: Fields): Call;
  /** The graph at a namespace, if it has not ended. */
  graph(path: Path): Call | undefined;
  /** Whether there was a graph at a namespace, and it has ended. */
  hasEnded(path: Path): boolean;
  /** `agent`: what it calls itself, if it says so. Its own parent must be open. */
  openGraph(path: Path, options: { agent?: string | undefined; input: unknown; meta?: Fields }): Call;
  /** What something inside a task is part of: the task's tool if it runs one, else the task's graph. */
  above(task: Path): Call;
  /** An event of the stream mode `tools`. */
  tool(task: Path, event: Fields): void;
  /** A task has come to its end, and with it what it ran. */
  closeTask(task: Path, status: Status): void;
  /** The first graph of a node that has not ended. */
  findByNode(parent: Path, node: string): Call | undefined;
}

/** How LangGraph leaves a tool that asks somebody; the call waits for the answer. */
const INTERRUPTS: ReadonlySet<unknown> = new Set(["GraphInterrupt", "NodeInterrupt"]);

export const toPathKey = (path: Path) => path.join("|");

/** The task that runs the graph of a namespace: without the number of a second graph. */
const toTask = (path: Path): Path => ((path.at(-1) ?? "").includes(":") ? path : path.slice(0, -1));

/** The namespace of the graph that a graph is in. */
export const toParentPath = (path: Path): Path => toTask(path).slice(0, -1);

const startsWith = (path: Path, start: Path) => start.every((segment, level) => segment === path[level]);

export function createPlaces(calls: Calls, rootName: string): Places {
  const graphs = new Map<string, Call>();
  let tools: { readonly call: Call; readonly id: string }[] = [];
  let root: Call | undefined;

  const graph = (path: Path) => {
    const found = path.length === 0 ? root : graphs.get(toPathKey(path));
    return found && calls.isOpen(found) ? found : undefined;
  };
  const getRoot = () => {
    if (!root) throw new Error("The root graph is opened first.");
    return root;
  };
  const enclosing = (task: Path): Call => {
    for (let path = task.slice(0, -1); path.length > 0; path = path.slice(0, -1)) {
      const found = graph(path);
      if (found) return found;
    }
    return getRoot();
  };
  const openTools = (task: Path) => {
    tools = tools.filter(({ call }) => calls.isOpen(call));
    return tools.filter(({ call }) => sameNamespace(call.path, task));
  };
  const above = (task: Path): Call => {
    const [tool, ...more] = openTools(task);
    // Of several tools in one task nobody says which one speaks.
    return tool && more.length === 0 ? tool.call : enclosing(task);
  };
  const openGraphs = () => [...graphs.values()].filter((call) => calls.isOpen(call));

  const startTool = (task: Path, { toolCallId, name, input }: Fields) => {
    const parent = enclosing(task);
    const tool_name = typeof name === "string" ? name : "tool";
    const id = typeof toolCallId === "string" ? toolCallId : "";
    const key = id === "" ? `${tool_name} ${openTools(task).length}` : id;
    const options = { parent, agent: parent.agent, name: tool_name, path: task };
    const payload = {
      tool_name,
      args: toArguments(input),
      node: toNode(task.at(-1) ?? ""),
      tool_call_id: id,
    };
    tools.push({ call: calls.open("tool", key, options, payload), id });
  };

  return {
    root: getRoot,
    openRoot(payload) {
      const options = { parent: undefined, agent: rootName, name: rootName, path: [] };
      root = calls.open("graph", "", options, { tool_name: rootName, ...payload });
      return root;
    },
    graph,
    hasEnded: (path) => graphs.has(toPathKey(path)) && graph(path) === undefined,
    openGraph(path, { agent, input, meta = {} }) {
      const task = toTask(path);
      const parent = above(task);
      const node = toNode(task.at(-1) ?? "");
      // A graph that is given its caller's configuration says its caller's name.
      const isOwn = agent !== undefined && agent !== parent.agent;
      const name = isOwn ? agent : parent.kind === "tool" ? parent.name : node;
      const payload = { tool_name: name, input, meta: { node, namespace: toPathKey(path), ...meta } };
      const call = calls.open("graph", "", { parent, agent: name, name, path }, payload);
      graphs.set(toPathKey(path), call);
      return call;
    },
    above,
    tool(task, data) {
      if (data.event === "on_tool_start") return startTool(task, data);
      const own = openTools(task).filter(({ id }) => id === (data.toolCallId ?? ""));
      const call = own.at(-1)?.call;
      if (!call) return;
      switch (data.event) {
        case "on_tool_end":
          return calls.close(call, { status: "success", payload: { result: toToolResult(data.output) } });
        case "on_tool_error": {
          const error = toError(data.error);
          if (INTERRUPTS.has(error.name)) return calls.say(call);
          if (error.name === "ParentCommand") return calls.close(call, { status: "success" });
          calls.say(call, "error", error);
          return calls.close(call, { status: "error" });
        }
        default:
          calls.say(call, "tool_update", { tool_name: call.name, data: data.data ?? null });
      }
    },
    closeTask(task, status) {
      for (const call of openGraphs().reverse()) {
        if (sameNamespace(toTask(call.path), task)) calls.close(call, { status });
      }
      for (const call of calls.openCalls().toReversed()) {
        if (call.kind === "model" && startsWith(call.path, task)) calls.close(call, { status });
      }
      const message = "The task has ended without a word of the tool's own end.";
      for (const { call } of openTools(task)) calls.abandon(call, { name: "MissingEnd", message, status });
    },
    findByNode: (parent, node) =>
      openGraphs().find(
        ({ path }) => sameNamespace(toParentPath(path), parent) && toNode(toTask(path).at(-1) ?? "") === node,
      ),
  };
}

/** An error as it came: an Error that was coerced, JSON of the log, or anything that was thrown. */
export function toError(error: unknown): Fields & { readonly name: string } {
  if (typeof error === "string") return fromText(error);
  if (!isFields(error)) return { name: "Error", message: JSON.stringify(error), class: "Error", stack: null };
  const name = typeof error.name === "string" ? error.name : "Error";
  return {
    name,
    message: typeof error.message === "string" ? error.message : JSON.stringify(error),
    class: typeof error.class === "string" ? error.class : name,
    stack: typeof error.stack === "string" ? error.stack : null,
  };
}

/** As LangChain's tracers write one: the message, and behind it the stack, which begins with the class. */
function fromText(text: string) {
  const [, message = text, stack, name = "Error"] =
    /^([\s\S]*?)\n\n((\w+)(?::[\s\S]*?)?\n {4}at [\s\S]*)$/.exec(text) ?? [];
  return { name, message, class: name, stack: stack ?? null };
}
