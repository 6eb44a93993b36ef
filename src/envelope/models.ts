// The model calls of a run, from their streamed messages: which are under way, and when each of them is over. Several may
// be streamed at the same time, also by one node.
import { toParts } from "../events/content-block.ts";
import { type Fields, isFields } from "../events/fields.ts";
import { addUsage, toFinishReason } from "../events/model-call.ts";
import { sameNamespace, toNode } from "../events/namespace.ts";
import type { Call, Calls } from "./calls.ts";
import { type Places, toPathKey } from "./places.ts";

type Path = readonly string[];

/** `key` tells the call. The end brings the whole message, if it is known. */
export interface ModelEvent {
  readonly event: "start" | "chunk" | "end";
  readonly key: string;
  readonly metadata: Fields;
  readonly message: Fields;
}

export interface Models {
  /** A message or a chunk, and LangGraph's metadata. */
  add(task: Path, tuple: unknown): void;
  /** An event of a model that tells itself when it begins and ends. */
  hear(task: Path, event: ModelEvent): void;
  /** Ends those that have said all: why they stopped, and what they have used. */
  closeSaid(): void;
  /** A node of a graph has ended. */
  closeNode(graph: Path, node: string): void;
  /** A task begins, perhaps again: its calls are counted from the first. */
  forget(task?: Path): void;
}

export function createModels(calls: Calls, places: Places): Models {
  const open = new Map<string, Call>();
  /** How many calls a task has made. */
  const counts = new Map<string, number>();

  const start = (task: Path, key: string, metadata: Fields): Call => {
    const parent = places.above(task);
    const taskKey = toPathKey(task);
    const ordinal = (counts.get(taskKey) ?? 0) + 1;
    counts.set(taskKey, ordinal);
    const { model, params } = toModel(metadata);
    const node = toNode(task.at(-1) ?? "");
    const options = { parent, agent: parent.agent, name: model, path: task };
    const call = calls.open("model", String(ordinal), options, { model, params, node });
    open.set(key, call);
    return call;
  };

  const hear = (call: Call, message: Fields) => {
    const { usage_metadata: usage, response_metadata: response } = message;
    if (isFields(usage)) call.said.usage = call.said.usage ? addUsage(call.said.usage, usage) : usage;
    if (isFields(response)) call.said.reason = toFinishReason(response) ?? call.said.reason;
    const payload = toToken(message);
    // A chunk that says nothing to be read counts all the same.
    calls.say(call, payload && "llm_token", payload);
  };

  const close = (key: string) => {
    const call = open.get(key);
    if (call) calls.close(call, { status: "success" });
    open.delete(key);
  };

  const closeSaid = (except?: string) => {
    for (const [key, call] of open) {
      if (!calls.isOpen(call)) open.delete(key);
      else if (key !== except && call.said.usage && call.said.reason !== undefined) close(key);
    }
  };

  return {
    add(task, tuple) {
      const [message, metadata] = Array.isArray(tuple) ? tuple : [];
      if (!isFields(message) || message.type !== "ai") return;
      const about = isFields(metadata) ? metadata : {};
      const { tags, langgraph_step: step } = about;
      // What a node returned, not what a model is saying: it is in the graph's result.
      if (Array.isArray(tags) && tags.includes(`graph:step:${step}`)) return;
      const key = `${toPathKey(task)}\0${message.id}`;
      closeSaid(key);
      const known = open.get(key);
      const call = known && calls.isOpen(known) ? known : start(task, key, about);
      hear(call, message);
      if (!Array.isArray(message.tool_call_chunks)) close(key);
    },
    hear(task, { event, key, metadata, message }) {
      const known = open.get(key);
      const call = known && calls.isOpen(known) ? known : start(task, key, metadata);
      if (event === "chunk") hear(call, message);
      if (event !== "end") return;
      // What was streamed is not said twice, and what it has used is counted once.
      call.said.usage = undefined;
      const isNew = call.seq === 1;
      hear(call, isNew ? message : { ...message, content: "", tool_calls: [], additional_kwargs: {} });
      close(key);
    },
    closeSaid: () => closeSaid(),
    closeNode(graph, node) {
      for (const [key, { path }] of open) {
        const isOfNode = sameNamespace(path.slice(0, -1), graph) && toNode(path.at(-1) ?? "") === node;
        if (isOfNode) close(key);
      }
    },
    forget(task) {
      if (task === undefined) counts.clear();
      else counts.delete(toPathKey(task));
    },
  };
}

/** What a chunk adds; undefined when it is nothing that is read. */
function toToken(message: Fields): Fields | undefined {
  let text = "";
  let reasoning = "";
  for (const part of toParts(message)) {
    if (part.kind === "text") text += part.text;
    if (part.kind === "reasoning") reasoning += part.text;
  }
  const { tool_call_chunks: chunks } = message;
  const hasCalls = Array.isArray(chunks) && chunks.length > 0;
  if (text === "" && reasoning === "" && !hasCalls) return undefined;
  const logprob = toLogprob(message.response_metadata);
  return {
    text,
    ...(reasoning === "" ? {} : { reasoning }),
    ...(logprob === undefined ? {} : { logprob }),
    ...(hasCalls ? { tool_call_chunks: chunks } : {}),
  };
}

/** As OpenAI tells it: of the chunk's tokens, whose probabilities multiply. */
function toLogprob(response: unknown): number | undefined {
  const logprobs = isFields(response) ? response.logprobs : undefined;
  const tokens = isFields(logprobs) && Array.isArray(logprobs.content) ? logprobs.content : [];
  const known = tokens.filter((token) => isFields(token) && typeof token.logprob === "number");
  return known.length === 0 ? undefined : known.reduce((sum, token) => sum + token.logprob, 0);
}

/** LangChain says of a model what LangSmith shows of it: its name, and parameters that were set. */
function toModel(metadata: Fields): { model: string; params: Fields } {
  const { ls_model_name: name, ls_provider: provider } = metadata;
  const model = [name, provider].find((known) => typeof known === "string" && known !== "");
  const params = Object.entries(metadata)
    .filter(([key, value]) => key.startsWith("ls_") && key !== "ls_model_name" && value !== undefined)
    .filter(([key]) => key !== "ls_integration" && key !== "ls_agent_type")
    .map(([key, value]) => [key.slice("ls_".length), value]);
  return { model: typeof model === "string" ? model : "unknown", params: Object.fromEntries(params) };
}
