// What clients see of the stream modes `debug`, `tasks` and `checkpoints`: LangGraph's records, with its configurations
// as the checkpoints that they name, and without what is only the server's.

interface Config {
  readonly configurable: Readonly<Record<string, unknown>>;
  readonly [key: string]: unknown;
}

/** `{ type, step, timestamp, payload }`. */
export function showDebug(data: unknown): unknown {
  if (!isRecord(data)) return data;
  if (data.type === "checkpoint") return { ...data, payload: showSnapshot(data.payload) };
  return { ...data, payload: showTask(data.payload) };
}

/** A task that begins or has ended. The configuration of its subgraph is shown as a checkpoint. */
export function showTask(task: unknown): unknown {
  if (!isRecord(task)) return task;
  const { state, ...rest } = task;
  const checkpoint = toCheckpoint(state);
  return checkpoint ? { ...rest, checkpoint } : task;
}

/** The state at a checkpoint; or, as it is, a place in the history (`id`, `parent_id`, `step`, `source`). */
export function showCheckpoint(data: unknown): unknown {
  if (!isRecord(data) || !("values" in data)) return data;
  const { values, metadata, next } = data;
  return { values, metadata, next };
}

function showSnapshot(payload: unknown): unknown {
  if (!isRecord(payload)) return payload;
  const { parentConfig, config, tasks, ...rest } = payload;
  return {
    ...rest,
    config: showConfig(config),
    tasks: Array.isArray(tasks) ? tasks.map(showTask) : tasks,
    checkpoint: atCheckpoint(config),
    parent_checkpoint: atCheckpoint(parentConfig),
    ...(parentConfig === undefined ? {} : { parent_config: showConfig(parentConfig) }),
  };
}

/** Null for a configuration that names no checkpoint. */
function atCheckpoint(config: unknown) {
  const checkpoint = toCheckpoint(config);
  return checkpoint?.checkpoint_id ? checkpoint : null;
}

function toCheckpoint(config: unknown) {
  if (!isConfig(config)) return undefined;
  const { thread_id, checkpoint_id, checkpoint_ns, checkpoint_map } = config.configurable;
  if (typeof thread_id !== "string") return undefined;
  return {
    thread_id,
    checkpoint_id: checkpoint_id ?? null,
    checkpoint_ns: checkpoint_ns ?? "",
    checkpoint_map: checkpoint_map ?? null,
  };
}

/** LangGraph's own keys start with "__". Who runs the graph is for the graph alone: it may hold a token. */
function showConfig(config: unknown): unknown {
  if (!isConfig(config)) return config;
  const { callbacks: _, configurable, ...rest } = config;
  const shown = Object.entries(configurable).filter(
    ([key]) => !key.startsWith("__") && key !== "langgraph_auth_user",
  );
  return { ...rest, configurable: Object.fromEntries(shown) };
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null;
const isConfig = (value: unknown): value is Config => isRecord(value) && isRecord(value.configurable);
