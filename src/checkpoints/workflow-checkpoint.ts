// A whole workflow at one moment, in the shape of document 003, §5.3: what a person and other tools read, and beside it
// the snapshot that a restore needs. JSON all through. Pure.
import { z } from "zod";
import { AppError } from "../errors.ts";

/** Of the document's form. One that is newer than this was written by a later Heddle. */
export const FORMAT = 1;

const record = z.record(z.string(), z.unknown());

/** A row of LangGraph's checkpoints with its values and the writes beside it. */
const snapshotRow = z.object({
  checkpoint_ns: z.string(),
  checkpoint_id: z.string(),
  parent_checkpoint_id: z.string().nullable(),
  type: z.string().nullable(),
  checkpoint: z.looseObject({
    channel_versions: z.record(z.string(), z.union([z.string(), z.number()])).optional(),
    versions_seen: z.record(z.string(), z.record(z.string(), z.union([z.string(), z.number()]))).optional(),
  }),
  /** JSON text, as it is. */
  metadata: z.string(),
  /** False: only what a head's value is made from. */
  is_head: z.boolean(),
  /** Values as [channel, version, form, data]; data of the form "json" is text, all else base64. */
  values: z.array(z.tuple([z.string(), z.string(), z.string(), z.string().nullable()])),
  /** Writes as [task, number, channel, form, data]. */
  writes: z.array(z.tuple([z.string(), z.int(), z.string(), z.string().nullable(), z.string()])),
});
export type SnapshotRow = z.output<typeof snapshotRow>;

const message = z.looseObject({ task_id: z.string().optional(), payload: z.unknown() });

/** What an older Heddle did not write yet has its default. */
const schema = z.object({
  version: z.int().default(FORMAT),
  checkpoint_id: z.string(),
  workflow_id: z.string(),
  /** By executor: what it is about to take up, and what it has asked and waits for. */
  messages: z.record(z.string(), z.array(message)).default({}),
  /** The state, but for the executors' own. */
  shared_state: record.default({}),
  /** By executor: the state key "<executor>_state", and the state of the subgraph that it is in. */
  executor_states: z.record(z.string(), record).default({}),
  iteration_count: z.int().default(0),
  metadata: record.default({}),
  created_at: z.string(),
  /** What has made it. */
  trigger: z.enum(["request", "steps", "interrupt", "timer"]).default("request"),
  thread_id: z.string(),
  graph_id: z.string(),
  /** LangGraph's checkpoint that it is a view of. */
  langgraph_checkpoint_id: z.string(),
  /** What the graph was made with, for one that a function makes. */
  config: record.default({}),
  topology: z.object({ version: z.string(), executors: z.record(z.string(), z.array(z.string())) }),
  snapshot: z.array(snapshotRow),
});
export type WorkflowCheckpoint = z.output<typeof schema>;

/** What of it a client sees. */
export type CheckpointView = Omit<WorkflowCheckpoint, "snapshot" | "config">;

export const toView = ({ snapshot, config, ...view }: WorkflowCheckpoint): CheckpointView => view;

/** One of a list: without the states. */
export const toSummary = ({
  messages,
  shared_state,
  executor_states,
  topology,
  ...rest
}: CheckpointView) => ({ ...rest, graph_version: topology.version });

/** @throws AppError checkpoint_unreadable */
export function parseCheckpoint(text: string): WorkflowCheckpoint {
  const unreadable = (reason: string, cause?: unknown) =>
    new AppError("checkpoint_unreadable", `The stored checkpoint cannot be read: ${reason}.`, { cause });
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw unreadable("it is not JSON", error);
  }
  const version = z.looseObject({ version: z.int().default(FORMAT) }).safeParse(value).data?.version;
  if (version !== undefined && version > FORMAT) {
    throw unreadable(`it has version ${version}, this server knows ${FORMAT}`);
  }
  const { data, error } = schema.safeParse(value);
  if (data) return data;
  const [issue] = error.issues;
  throw unreadable(`${issue?.path.join(".") || "it"}: ${issue?.message}`, error);
}
