// From LangGraph's snapshot to the ThreadState of the LangGraph API.
import type { RunnableConfig } from "@langchain/core/runnables";
import type { StateSnapshot } from "@langchain/langgraph";

interface CheckpointRef {
  readonly thread_id: string;
  readonly checkpoint_id: string;
  readonly checkpoint_ns: string;
  readonly checkpoint_map: unknown;
}

interface TaskState {
  readonly id: string;
  readonly name: string;
  readonly interrupts: readonly unknown[];
  readonly [field: string]: unknown;
}

/** Values and results hold live messages; `toWireJson` flattens them. */
export interface ThreadState {
  readonly values: unknown;
  readonly next: readonly string[];
  readonly tasks: readonly TaskState[];
  readonly metadata?: unknown;
  readonly created_at: string | null;
  readonly checkpoint: CheckpointRef | null;
  readonly parent_checkpoint: CheckpointRef | null;
  readonly interrupts: readonly unknown[];
}

/** The state of a thread that has never run. */
export const EMPTY_STATE: ThreadState = {
  values: {},
  next: [],
  tasks: [],
  created_at: null,
  checkpoint: null,
  parent_checkpoint: null,
  interrupts: [],
};

export const toThreadState = (snapshot: StateSnapshot): ThreadState => ({
  ...toState(snapshot),
  interrupts: snapshot.tasks.flatMap((task) => task.interrupts),
});

/** The state of a subgraph's task has no `interrupts` of its own: those are its tasks'. */
function toState(snapshot: StateSnapshot): Omit<ThreadState, "interrupts"> {
  return {
    values: snapshot.values,
    next: snapshot.next,
    tasks: snapshot.tasks.map((task) => ({
      id: task.id,
      name: task.name,
      error: task.error === undefined ? null : toErrorText(task.error),
      interrupts: task.interrupts,
      path: task.path ?? null,
      checkpoint: isConfig(task.state) ? toNamespaceRef(task.state) : null,
      state: isSnapshot(task.state) ? toState(task.state) : null,
      result: task.result ?? null,
    })),
    metadata: snapshot.metadata,
    created_at: snapshot.createdAt ?? null,
    checkpoint: toCheckpointRef(snapshot.config),
    parent_checkpoint: snapshot.parentConfig ? toCheckpointRef(snapshot.parentConfig) : null,
  };
}

/** Task id to its interrupts, as a thread shows them. */
export const toInterrupts = (tasks: StateSnapshot["tasks"]): Record<string, unknown[]> =>
  Object.fromEntries(tasks.map((task) => [task.id, task.interrupts]));

function toCheckpointRef(config: RunnableConfig): CheckpointRef | null {
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = config.configurable ?? {};
  if (typeof checkpoint_id !== "string") return null;
  return {
    thread_id,
    checkpoint_id,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}

/** A subgraph's checkpoints, the newest of which is meant: its state was not asked for. */
const toNamespaceRef = ({ configurable: { thread_id, checkpoint_ns } = {} }: RunnableConfig) => ({
  thread_id,
  checkpoint_ns,
});

// A stored error is a record { name, message }; clients read it as JSON text (langgraph-api's form).
const toErrorText = (error: unknown) =>
  typeof error === "string"
    ? error
    : JSON.stringify(error instanceof Error ? { name: error.name, message: error.message } : error);

const isSnapshot = (value: unknown): value is StateSnapshot =>
  typeof value === "object" && value !== null && "values" in value && "next" in value;
const isConfig = (value: unknown): value is RunnableConfig =>
  typeof value === "object" && value !== null && "configurable" in value && !("values" in value);
