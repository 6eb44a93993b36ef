// From LangGraph's state to the document's words: tasks that are to run are queued messages, a state key named after an
// executor is its own snapshot, the rest is shared. Pure.
import type { StateSnapshot } from "@langchain/langgraph";
import type { CheckpointView } from "./workflow-checkpoint.ts";

type View = Pick<CheckpointView, "messages" | "shared_state" | "executor_states" | "iteration_count">;

/** The state key in which an executor keeps what it would have to know again. */
export const stateKeyOf = (executor: string) => `${executor}_state`;

/**
 * @param executors names of the graph's nodes
 * @param sends the tasks that were sent, by their number
 * @param toPlain as clients get it: messages flat, no classes
 */
export function toCheckpointView(
  state: StateSnapshot,
  executors: readonly string[],
  sends: readonly unknown[],
  toPlain: (value: unknown) => unknown,
): View {
  const values = toRecord(toPlain(state.values));
  const keys = new Map(executors.map((name) => [stateKeyOf(name), name]));
  const own = Object.entries(values).flatMap(([key, value]) => {
    const name = keys.get(key);
    return name === undefined || !isRecord(value) ? [] : [[name, value] as const];
  });
  const owned = new Set(own.map(([name]) => stateKeyOf(name)));
  const byName = Map.groupBy(state.tasks, ({ name }) => name);
  const queued = [...byName].map(([name, tasks]) => [
    name,
    tasks.map((task) => ({
      task_id: task.id,
      kind: isSend(task.path) ? "send" : "edge",
      payload: isSend(task.path) ? toPlain(argsOf(sends[Number(task.path?.[1])])) : null,
      is_done: task.result !== undefined,
      requests: toPlain(task.interrupts),
      ...(task.error === undefined ? {} : { error: toPlain(task.error) }),
    })),
  ]);
  return {
    messages: Object.fromEntries(queued),
    shared_state: Object.fromEntries(Object.entries(values).filter(([key]) => !owned.has(key))),
    executor_states: mergeStates(own, byName, toPlain),
    iteration_count: Math.max(0, Number(state.metadata?.step ?? 0)),
  };
}

/** Its snapshot and, while it is at work, the state of the subgraph that it is. */
function mergeStates(
  own: readonly (readonly [string, Record<string, unknown>])[],
  byName: ReadonlyMap<string, StateSnapshot["tasks"]>,
  toPlain: (value: unknown) => unknown,
): Record<string, Record<string, unknown>> {
  const states = new Map(own);
  for (const [name, tasks] of byName) {
    const inner = tasks.flatMap(({ state }) =>
      isRecord(state) && isRecord(state.values) ? [toRecord(toPlain(state.values))] : [],
    );
    const [first, ...others] = inner;
    if (first === undefined) continue;
    states.set(name, { ...states.get(name), ...(others.length === 0 ? first : { tasks: inner }) });
  }
  return Object.fromEntries(states);
}

const argsOf = (send: unknown) => (isRecord(send) ? (send.args ?? null) : null);
const isSend = (path: readonly unknown[] | undefined) => path?.[0] === "__pregel_push";
const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value);
const toRecord = (value: unknown): Record<string, unknown> => (isRecord(value) ? value : { value });
