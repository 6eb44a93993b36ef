// Reads what a LangGraph graph streams, mode by mode, and tells the calls of its run what it means. The order of the chunks
// is all that is known: a graph begins with the first one that comes from its namespace.
import { isFields } from "../events/fields.ts";
import { sameNamespace, toNode } from "../events/namespace.ts";
import type { Calls } from "./calls.ts";
import type { Chunk } from "./chunk.ts";
import { type History, toHistory, toPlace } from "./history.ts";
import { createModels, type ModelEvent } from "./models.ts";
import { type Places, toParentPath, toPathKey } from "./places.ts";

type Path = readonly string[];

/** Understands the events of one source, one after the other. */
export interface Reader {
  read(chunk: Chunk): void;
  /** The run begins anew after some of it has been lost. */
  retry(): void;
  /** No more will come: what was held back is told. `isWell`: nothing has failed. */
  flush(isWell: boolean): void;
  /** Whether the run has come to a question that it waits at. */
  isInterrupted(): boolean;
}

interface ReaderOptions {
  readonly calls: Calls;
  readonly places: Places;
  /** The run goes on from a checkpoint of an earlier one. */
  readonly isResumed: boolean;
}

export function createChunkReader({ calls, places, isResumed }: ReaderOptions): Reader {
  const models = createModels(calls, places);
  const histories = new Map<string, History>();
  const seen = new Set<string>();
  let goesOn = isResumed;
  let isInterrupted = false;
  /** Whether the run tells of its tasks: then they say when something is over, otherwise the updates of nodes do. */
  let hasTasks = false;

  /**
   * Tasks that have ended with nothing: a node that returns nothing and one that fails are told alike. What has not
   * failed is followed by something of its graph.
   */
  let doubtful: Path[] = [];

  const settle = (isOf: (path: Path) => boolean) => {
    const settled = doubtful.filter(isOf);
    doubtful = doubtful.filter((task) => !settled.includes(task));
    for (const task of settled) places.closeTask(task, "success");
  };
  /** The graph goes on: what it waited for has ended well. */
  const goOn = (path: Path) => {
    if (doubtful.length > 0) settle((task) => sameNamespace(task.slice(0, -1), path));
  };

  const historyOf = (path: Path) => {
    const key = toPathKey(path);
    const history = histories.get(key) ?? toHistory();
    histories.set(key, history);
    return history;
  };

  /** A graph that the run had begun earlier goes on where it was. */
  const goesOnAt = (path: Path, id: string) => {
    if (seen.has(id)) return true;
    // What the root has begun since its first checkpoint is new.
    return goesOn && (path.length === 0 || historyOf([]).count <= 1);
  };

  const tellCheckpoint = (path: Path, { place: id, digest }: History["held"][number]) => {
    const history = historyOf(path);
    const call = graphAt(path);
    if (history.last === id) return calls.say(call);
    const node = history.ran.length > 0 ? [...new Set(history.ran)].join(", ") : null;
    const isFirst = history.count++ === 0;
    tellResumed(path, null);
    if (isFirst && goesOnAt(path, id)) history.resumedAt = id;
    else calls.say(call, "subgraph_checkpoint", { checkpoint_id: id, node, state_digest: digest });
    history.last = id;
    history.ran = [];
    seen.add(id);
  };

  const tellResumed = (path: Path, node: string | null) => {
    const history = historyOf(path);
    const call = places.graph(path);
    if (!call || history.resumedAt === undefined) return;
    calls.say(call, "subgraph_resume", { checkpoint_id: history.resumedAt, node });
    history.resumedAt = undefined;
  };

  const graphAt = (path: Path) => places.graph(path) ?? begin(path);

  /** The call of a graph, from the first thing that is heard of it. */
  const begin = (path: Path, agent?: string) => {
    if (path.length === 0) return places.root();
    const parent = toParentPath(path);
    if (!places.graph(parent)) begin(parent);
    const history = historyOf(path);
    const { first, held } = history;
    history.first = undefined;
    history.held = [];
    history.count = 0;
    const input = first?.read() ?? null;
    const [checkpoint] = held;
    const resumed = checkpoint !== undefined && goesOnAt(path, checkpoint.place);
    const meta = resumed ? { resumed: true } : {};
    const call = places.openGraph(path, { agent, input, meta });
    if (first) call.outcome?.begin(input);
    history.hasState = first !== undefined;
    for (const one of held) tellCheckpoint(path, one);
    return call;
  };

  const readState = (path: Path, chunk: Chunk) => {
    goOn(path);
    if (chunk.isInterrupt()) {
      if (path.length === 0) isInterrupted = true;
      return;
    }
    const history = historyOf(path);
    const { place } = history;
    history.place = undefined;
    const call = places.graph(path);
    if (!call && !history.first) {
      history.first = chunk;
      if (place) history.held.push({ place, digest: chunk.digest() });
      return;
    }
    const known = graphAt(path);
    if (!history.hasState) known.outcome?.begin(chunk.read());
    history.hasState = true;
    if (place) tellCheckpoint(path, { place, digest: chunk.digest() });
    else calls.say(known);
  };

  const readPlace = (path: Path, chunk: Chunk) => {
    goOn(path);
    const place = toPlace(chunk.read());
    if (!place) return;
    const history = historyOf(path);
    const before = history.place;
    if (before) tellCheckpoint(path, { place: before, digest: null });
    // The whole checkpoint, with its state, or the place of the state that follows.
    if (!place.isWhole) history.place = place.id;
    else if (places.graph(path)) tellCheckpoint(path, { place: place.id, digest: chunk.digest() });
    else history.held.push({ place: place.id, digest: chunk.digest() });
  };

  const readTask = (path: Path, task: unknown) => {
    if (!isFields(task)) return;
    hasTasks = true;
    const { id, name, interrupts, error, metadata } = task;
    const agent = isFields(metadata) ? metadata.lc_agent_name : undefined;
    const call = places.graph(path) ?? begin(path, typeof agent === "string" ? agent : undefined);
    const child = [...path, `${name}:${id}`];
    if (!("result" in task) && !("error" in task)) {
      goOn(path);
      tellResumed(path, String(name));
      calls.say(call);
      return models.forget(child);
    }
    if (Array.isArray(interrupts) && interrupts.length > 0) {
      if (path.length === 0) isInterrupted = true;
      return calls.say(call);
    }
    historyOf(path).ran.push(String(name));
    call.outcome?.add(task.result);
    calls.say(call);
    if (error !== undefined && error !== null) places.closeTask(child, "error");
    else if (isFields(task.result) && Object.keys(task.result).length === 0) doubtful.push(child);
    else places.closeTask(child, "success");
  };

  const readUpdates = (path: Path, updates: unknown) => {
    if (hasTasks || !isFields(updates)) return;
    const call = graphAt(path);
    calls.say(call);
    for (const [node, update] of Object.entries(updates)) {
      if (node === "__interrupt__") {
        if (path.length === 0) isInterrupted = true;
        continue;
      }
      historyOf(path).ran.push(node);
      call.outcome?.add(update);
      const child = places.findByNode(path, node);
      if (child) calls.close(child, { status: "success" });
      models.closeNode(path, node);
    }
  };

  /** What runs inside a task: its graph has begun, if nobody has said so yet. */
  const hearTask = (task: Path, about?: unknown) => {
    const path = task.slice(0, -1);
    const agent = isFields(about) ? about.lc_agent_name : undefined;
    if (!places.graph(path)) begin(path, typeof agent === "string" ? agent : undefined);
    tellResumed(path, toNode(task.at(-1) ?? ""));
  };

  const readMessages = (task: Path, tuple: unknown) => {
    hearTask(task, Array.isArray(tuple) ? tuple[1] : undefined);
    models.add(task, tuple);
  };

  return {
    read(chunk) {
      const { mode, namespace: path } = chunk;
      if (mode === "messages") return readMessages(path, chunk.read());
      models.closeSaid();
      switch (mode) {
        case "values":
          return readState(path, chunk);
        case "checkpoints":
          return readPlace(path, chunk);
        case "tasks":
          return readTask(path, chunk.read());
        case "updates":
          return hasTasks ? undefined : readUpdates(path, chunk.read());
        case "tools": {
          hearTask(path);
          const data = chunk.read();
          return isFields(data) ? places.tool(path, data) : undefined;
        }
        case "model": {
          hearTask(path);
          return models.hear(path, chunk.read() as ModelEvent);
        }
        case "graph_end": {
          const call = places.graph(path);
          return call && calls.close(call, { status: "success" });
        }
        case "custom": {
          const call = graphAt(path);
          return calls.say(call, "tool_update", { tool_name: call.name, data: chunk.read() });
        }
      }
    },
    retry() {
      histories.clear();
      doubtful = [];
      models.forget();
      goesOn = false;
    },
    flush(isWell) {
      if (isWell) settle(() => true);
      for (const [key, { first, place }] of histories) {
        const path = key === "" ? [] : key.split("|");
        // A state that came late is of a graph that has ended.
        if (first && !places.hasEnded(path)) begin(path);
        if (place && places.graph(path)) tellCheckpoint(path, { place, digest: null });
        tellResumed(path, null);
      }
    },
    isInterrupted: () => isInterrupted,
  };
}
