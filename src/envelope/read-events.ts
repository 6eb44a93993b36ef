// LangChain's `streamEvents`, version 2, as chunks: what its events say, in the terms of LangGraph's own stream. They tell
// more exactly when a model or a graph begins and ends; what they do not tell (checkpoints) is not made up.
import { type Fields, isFields } from "../events/fields.ts";
import { type Chunk, toChunk } from "./chunk.ts";

type Path = readonly string[];

/** A graph, or something else that a task runs, which has begun and of which no node has been heard yet. */
interface Begun {
  readonly runId: string;
  readonly name: string;
  readonly input: unknown;
}

/** Turns the events of one run, in order, into chunks. */
export function createEventTranslator(): (event: Fields) => Chunk[] {
  const begun = new Map<string, Begun>();
  /** Graphs by their run, tools by theirs. */
  const graphs = new Map<string, Path>();
  const tools = new Map<string, string>();
  const counts = new Map<string, number>();

  /** A node begins: before it, its graph, when this is the first node of it. */
  const startNode = (path: Path, id: string, name: unknown, data: Fields): Chunk[] => {
    const key = path.join("|");
    const graph = begun.get(key);
    begun.delete(key);
    if (graph) graphs.set(graph.runId, path);
    const isNamed = graph !== undefined && graph.name !== "LangGraph";
    const metadata = isNamed ? { lc_agent_name: graph.name } : {};
    const task = toChunk("tasks", path, () => ({ id, name, input: data.input, metadata }));
    return graph ? [toChunk("values", path, () => graph.input), task] : [task];
  };

  const ofTool = (task: Path, kind: string, { run_id, name, data }: Fields): Chunk[] => {
    const run = String(run_id);
    const { input, output, error, chunk } = isFields(data) ? data : {};
    if (kind === "on_tool_start") {
      const place = `${task.join("|")} ${name}`;
      const count = (counts.get(place) ?? 0) + 1;
      counts.set(place, count);
      tools.set(run, `${name} ${count}`);
    }
    const toolCallId = tools.get(run);
    const event = kind === "on_tool_stream" ? "on_tool_event" : kind;
    return [toChunk("tools", task, () => ({ event, toolCallId, name, input, output, error, data: chunk }))];
  };

  return (event) => {
    const { event: kind, name, run_id, tags, metadata, data } = event;
    const about = isFields(metadata) ? metadata : {};
    const said = isFields(data) ? data : {};
    const ns = about.langgraph_checkpoint_ns;
    const task = typeof ns === "string" && ns !== "" ? ns.split("|") : [];
    const run = String(run_id);
    const isHidden = Array.isArray(tags) && tags.includes("langsmith:hidden");
    if (typeof kind !== "string" || isHidden) return [];
    if (/^on_(chat_model|llm)_/.test(kind)) return [ofModel(task, kind, run, about, said)];
    if (kind.startsWith("on_tool_")) return ofTool(task, kind, event);
    const isNode = Array.isArray(tags) && tags.some((tag) => String(tag).startsWith("graph:step:"));
    const path = task.slice(0, -1);
    const id = (task.at(-1) ?? "").split(":")[1] ?? "";
    switch (kind) {
      case "on_chain_start":
        if (isNode) return startNode(path, id, name, said);
        if (task.length > 0) begun.set(task.join("|"), { runId: run, name: String(name), input: said.input });
        return [];
      case "on_chain_end": {
        const result = { id, name, result: toUpdates(said.output), interrupts: [] };
        if (isNode) return [toChunk("tasks", path, () => result)];
        const graph = graphs.get(run);
        graphs.delete(run);
        return graph ? [toChunk("graph_end", graph, () => null)] : [];
      }
      case "on_chain_error":
        return [toChunk("error", task, () => said.error)];
      case "on_custom_event":
        return [toChunk("custom", path, () => data)];
      default:
        return [];
    }
  };
}

function ofModel(task: Path, kind: string, key: string, metadata: Fields, data: Fields): Chunk {
  const event = kind.endsWith("_start") ? "start" : kind.endsWith("_end") ? "end" : "chunk";
  const message = toMessage(data.chunk ?? data.output);
  return toChunk("model", task, () => ({ event, key, metadata, message }));
}

/** Of a model that gives no messages, its text. */
function toMessage(said: unknown): Fields {
  if (typeof said === "string") return { content: said };
  if (!isFields(said)) return {};
  if ("content" in said) return said;
  if (isFields(said.message)) return said.message;
  if (typeof said.text === "string") return { content: said.text };
  const [generation] = Array.isArray(said.generations) ? said.generations.flat() : [];
  return generation === undefined ? {} : toMessage(generation);
}

/** What a node has returned: updates, and commands with updates in them. */
const toUpdates = (output: unknown) =>
  [output].flat().map((part) => (isFields(part) && part.lg_name === "Command" ? part.update : part));
