// Renders the events of one run as frames. A pure fold: the same events give the same frames with the same numbers, to
// whoever reads them, whenever. It starts at the run's first event, also for a reader who wants only the last ones.

import { toCheckpointTime } from "../events/checkpoint-time.ts";
import { type Fields, isFields } from "../events/fields.ts";
import { toNode } from "../events/namespace.ts";
import type { Frame } from "./frame.ts";
import { createMessages } from "./messages.ts";
import { toToolData } from "./tools.ts";
import { type AgentStatus, createTree, type TreeNode } from "./tree.ts";

/** What of a run its frames depend on besides its events. */
export interface RenderedRun {
  readonly runId: string;
  /** Name of the root graph. */
  readonly graphName: string;
  /** The number of its first frame. */
  readonly base: number;
  /** Milliseconds since 1970. */
  readonly startedAt: number;
  /** Interrupts that it answers. */
  readonly answers: readonly string[];
}

interface LogEvent {
  /** `updates`, `updates|child:<task id>`, … */
  readonly event: string;
  /** JSON text. */
  readonly data: string;
  /** The event, as far as it is known, when its state cannot be shown any more. */
  readonly lost?: { readonly event: string; readonly data: string } | undefined;
}

export interface Terminal {
  readonly status: "completed" | "failed" | "interrupted";
  readonly error?: string;
  /** Why nothing was run: the answers that it brought, and what waits for one. */
  readonly refusal?: {
    readonly reason: string;
    readonly interrupt_ids: unknown;
    readonly pending_ids: unknown;
  };
}

export interface RunRenderer {
  /** The frames of the run's next event. */
  render(event: LogEvent): Frame[];
  /** The frames of its end. `isExpired`: its events are deleted. */
  end(terminal: Terminal, isExpired?: boolean): Frame[];
  /** What is known of its graphs by now. */
  tree(): TreeNode;
}

export function createRunRenderer(run: RenderedRun): RunRenderer {
  const { runId, graphName, base, answers } = run;
  const ROOT: readonly string[] = [];
  let frames: Frame[] = [];
  let next = base;
  let timestamp = run.startedAt;
  let status: AgentStatus = "running";
  let isStarted = false;
  let isInterrupted = false;
  let isLost = false;
  /** Whether the run tells of its tasks: then they say when a namespace is over, otherwise the updates of nodes do. */
  let hasTasks = false;
  const asked = new Set<string>();
  /** Namespaces that are over as soon as something else is heard. */
  let ending: (readonly string[])[] = [];

  const emit = (
    method: string,
    namespace: readonly string[],
    data: string,
    {
      channel = method,
      node,
      isSynthetic = false,
    }: { channel?: string; node?: string | undefined; isSynthetic?: boolean } = {},
  ) => {
    // What cannot be shown takes its number nevertheless, so that what comes after it keeps its own.
    const seq = next++;
    if (isLost && (method === "values" || method === "tasks")) return;
    const eventId = isSynthetic ? `synth:${runId}:${seq}` : String(seq);
    frames.push({ seq, eventId, method, channel, namespace, timestamp, node, data });
  };
  const emitJson = (method: string, namespace: readonly string[], data: unknown, options = {}) =>
    emit(method, namespace, JSON.stringify(data), options);

  const tree = createTree((namespace, data) => emitJson("lifecycle", namespace, data));
  const messages = createMessages((namespace, node, data) => emitJson("messages", namespace, data, { node }));

  const emitRoot = (data: Fields) => emitJson("lifecycle", ROOT, data, { isSynthetic: true });

  const start = () => {
    isStarted = true;
    emitRoot({ event: "running", graph_name: graphName });
    if (answers.length > 0)
      emitJson("input.answered", ROOT, { interrupt_ids: answers }, { channel: "input" });
  };

  const ask = (namespace: readonly string[], interrupts: unknown) => {
    if (namespace.length === 0) isInterrupted = true;
    for (const interrupt of Array.isArray(interrupts) ? interrupts : []) {
      if (!isFields(interrupt) || typeof interrupt.id !== "string" || asked.has(interrupt.id)) continue;
      asked.add(interrupt.id);
      const data = { interrupt_id: interrupt.id, payload: interrupt.value ?? null };
      emitJson("input.requested", namespace, data, { channel: "input" });
    }
  };

  const endNamespace = (namespace: readonly string[], status: "completed" | "failed") => {
    messages.finish((other) => namespace.every((segment, level) => segment === other[level]));
    tree.end(namespace, status);
  };

  const endWaiting = () => {
    for (const namespace of ending) endNamespace(namespace, "completed");
    ending = [];
  };

  const renderUpdates = (namespace: readonly string[], data: Fields) => {
    for (const [node, update] of Object.entries(data)) {
      if (node === "__interrupt__") {
        ask(namespace, update);
        continue;
      }
      // Before the update: a message of the node is whole when the state has it.
      messages.finish(
        (other) => other.length === namespace.length + 1 && toNode(other.at(-1) ?? "") === node && !hasTasks,
      );
      emitJson("updates", namespace, isFields(update) ? update : update === null ? {} : { value: update }, {
        node,
      });
      const child = hasTasks ? undefined : tree.findOpen(namespace, node);
      if (child) ending.push(child);
    }
  };

  const renderTask = (namespace: readonly string[], task: Fields) => {
    hasTasks = true;
    const { id, name, interrupts, error } = task;
    const isResult = "result" in task || "error" in task;
    if (!isResult) {
      tree.learn(namespace, task);
      return;
    }
    const isWaiting = Array.isArray(interrupts) && interrupts.length > 0;
    const child = [...namespace, `${name}:${id}`];
    if (error !== undefined && error !== null) endNamespace(child, "failed");
    else if (!isWaiting) ending.push(child);
    if (typeof id === "string") messages.finish((other) => other.at(namespace.length) === `${name}:${id}`);
  };

  const renderValues = (namespace: readonly string[], data: string) => {
    const place = next;
    const [values, interrupts] = withoutInterrupts(data);
    if (interrupts !== undefined) ask(namespace, interrupts);
    if (values !== undefined) emit("values", namespace, values);
    // A state takes a number also when it cannot be shown, so that those after it keep theirs.
    if (next === place) next++;
  };

  const renderCustom = (namespace: readonly string[], payload: unknown) => {
    const name = isFields(payload) && typeof payload.name === "string" ? payload.name : undefined;
    const data =
      name === undefined
        ? { payload }
        : { name, payload: isFields(payload) && "payload" in payload ? payload.payload : payload };
    emitJson("custom", namespace, data, name === undefined ? {} : { channel: `custom:${name}` });
  };

  return {
    render({ lost, ...shown }) {
      frames = [];
      isLost = lost !== undefined;
      const { event, data } = lost ?? shown;
      const [mode, ...namespace] = event.split("|");
      if (mode === "metadata") {
        // Another attempt streams its messages again, under other ids.
        if (isStarted) messages.abandon();
        else start();
        return frames;
      }
      if (mode === "error") return frames;
      endWaiting();
      tree.hear(namespace);
      switch (mode) {
        case "values":
          renderValues(namespace, data);
          break;
        case "updates":
          renderUpdates(namespace, JSON.parse(data));
          break;
        case "messages":
          messages.add(namespace, JSON.parse(data));
          break;
        case "custom":
          renderCustom(namespace, JSON.parse(data));
          break;
        case "tools":
          emitJson("tools", namespace, toToolData(JSON.parse(data)));
          break;
        case "checkpoints": {
          const { id } = JSON.parse(data);
          // A full checkpoint, as older clients ask for, has no id.
          if (typeof id !== "string") break;
          timestamp = Math.max(timestamp, toCheckpointTime(id));
          emit("checkpoints", namespace, data);
          break;
        }
        case "tasks":
          emit("tasks", namespace, data);
          renderTask(namespace, JSON.parse(data));
          break;
      }
      return frames;
    },
    end(terminal, isExpired = false) {
      frames = [];
      isLost = false;
      if (!isStarted) start();
      endWaiting();
      const { error } = terminal;
      const isWaiting = terminal.status === "completed" && isInterrupted;
      status = isWaiting ? "interrupted" : terminal.status;
      if (status === "completed" || isWaiting) messages.finish(() => true);
      else messages.abandon();
      tree.endAll(status);
      emitRoot({
        event: status,
        graph_name: graphName,
        ...(error === undefined ? {} : { error }),
        ...terminal.refusal,
        ...(isExpired ? { events_expired: true } : {}),
      });
      return frames;
    },
    tree: () => tree.toTree(graphName, status),
  };
}

/** The JSON of a state without its interrupts, and those; undefined when nothing else is in it. */
function withoutInterrupts(json: string): [values: string | undefined, interrupts: unknown] {
  if (!json.includes('"__interrupt__"')) return [json === "{}" ? undefined : json, undefined];
  const state: unknown = JSON.parse(json);
  if (!isFields(state) || !("__interrupt__" in state)) return [json, undefined];
  const { __interrupt__: interrupts, ...values } = state;
  return [Object.keys(values).length > 0 ? JSON.stringify(values) : undefined, interrupts];
}
