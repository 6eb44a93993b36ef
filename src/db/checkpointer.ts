// The official PostgresSaver, made safe for several workers: one statement per write, refused when the writer's
// fencing token is out of date; "latest" by the database's sequence and not by a worker's clock; channel versions that
// never repeat, so that forks keep their own values; our serializer. Tables: migrations/0001_initial.sql.
import { randomBytes } from "node:crypto";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  type PendingWrite,
  TASKS,
  WRITES_IDX_MAP,
} from "@langchain/langgraph-checkpoint";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { type CheckpointWatcher, createWatchers } from "./checkpoint-watchers.ts";
import {
  DELETE_THREAD,
  replaceWrites,
  SELECT_HEADS,
  SELECT_LIST,
  SELECT_ONE,
  SELECT_PENDING_SENDS,
  storeBatch,
} from "./checkpointer.sql.ts";
import type { Database, Queryable } from "./database.ts";
import { type Address, type Batch, createHeldBatches } from "./held-batches.ts";
import { createSerializer, decode, dump } from "./serializer.ts";
import { storableJson } from "./storable-json.ts";

/** Key in `configurable` under which a run carries its fencing token. LangGraph keeps `__` keys out of metadata. */
export const FENCE_KEY = "__heddle_fence";
/** The same for the version of its graph, which each of its checkpoints notes as `graph_version`. */
export const GRAPH_VERSION_KEY = "__heddle_graph_version";

/** A newer owner has the thread: whoever gets this must stop and write nothing more. */
export class FencedError extends Error {
  constructor(threadId: string) {
    super(`Another worker has taken over thread ${threadId}.`);
    this.name = "FencedError";
  }
}

type Row = {
  thread_id: string;
  checkpoint: Omit<Checkpoint, "channel_values">;
  checkpoint_ns: string;
  checkpoint_id: string;
  parent_checkpoint_id: string | null;
  metadata: Record<string, unknown>;
  channel_values: [Uint8Array, Uint8Array, Uint8Array][];
  pending_writes: [Uint8Array, Uint8Array, Uint8Array, Uint8Array][];
};

export class Checkpointer extends PostgresSaver {
  readonly #db: Database;
  readonly #patient: Queryable;
  readonly #watchers = createWatchers();
  readonly #held = createHeldBatches(async (place, batch) => {
    if (!(await storeBatch(this.#patient, place, batch))) throw new FencedError(place.threadId);
  });
  #step: { readonly after: number | string | undefined; readonly next: string } | undefined;

  /** `patient`: for a run's own reads and writes, which wait for a database that is away. */
  constructor(db: Database, patient: Queryable = db) {
    super(db.pool, createSerializer(), { schema: "heddle" });
    this.#db = db;
    this.#patient = patient;
    // Our own migrations make the tables.
    this.isSetup = true;
    // LangGraph binds it to a subgraph's own checkpointer, which is none, when it updates that subgraph's state.
    this.getNextVersion = this.getNextVersion.bind(this);
  }

  /**
   * A counter and a random part: two forks never give the same version to different values (the stock integer
   * versions do). Channels that one step writes share a version, as the stock ones do: by that LangGraph sees that two
   * nodes ran in the same step. It asks for them one after the other in one go, so the last answer is kept that long.
   */
  override getNextVersion(current: number | string | undefined): never {
    if (this.#step === undefined || this.#step.after !== current) {
      const count = current === undefined ? 0 : Number.parseInt(String(current).replace(/^v/, ""), 10);
      const next = `v${String(count + 1).padStart(12, "0")}.${randomBytes(8).toString("hex")}`;
      if (this.#step === undefined) queueMicrotask(() => (this.#step = undefined));
      this.#step = { after: current, next };
    }
    // The base class says number; LangGraph compares strings as well.
    return this.#step.next as never;
  }

  /** Returns how to stop watching. */
  watch(threadId: string, fence: string, watcher: CheckpointWatcher): () => void {
    return this.#watchers.add(threadId, fence, watcher);
  }

  /**
   * A run's input, which LangGraph does not wait for either, is stored with the step that takes it in, if that comes at
   * once; `settle` waits for one that has none.
   */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const parent = address(config);
    const { threadId, ns, fence } = parent;
    const place = { ...parent, checkpointId: checkpoint.id };
    const isInput = fence !== null && metadata.source === "input";
    // In an object: who waits until it is under way does not wait until it is stored.
    const underWay = this.#toBatch(config, checkpoint, metadata, newVersions).then((batch) => ({
      stored: isInput ? this.#held.hold(place, batch) : this.#held.follow(parent, batch),
    }));
    const stored = underWay.then((way) => way.stored);
    for (const watcher of this.#watchers.of(threadId, fence)) {
      watcher.onPut(ns, checkpoint, stored, newVersions, metadata);
    }
    if (isInput) stored.catch(() => undefined);
    await (isInput ? underWay : stored);
    return { configurable: { thread_id: threadId, checkpoint_ns: ns, checkpoint_id: checkpoint.id } };
  }

  /** Resolves when all that a run has put is stored. @throws FencedError, or what else has kept it from being stored */
  settle(threadId: string, fence: string): Promise<void> {
    return this.#held.settle({ threadId, fence });
  }

  async #toBatch(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<Batch> {
    const { threadId, ns, checkpointId: parentId } = address(config);
    const dumped = this._dumpBlobs(threadId, ns, checkpoint.channel_values, newVersions);
    const row = {
      id: checkpoint.id,
      parentId,
      checkpoint: JSON.stringify(this._dumpCheckpoint(checkpoint)),
      metadata: toMetadata(config, metadata),
    };
    const blobs = (await dumped).map(([, , channel, version, type, blob]) => ({
      channel,
      version,
      type,
      blob: toBuffer(blob),
    }));
    return { checkpoints: [row], blobs, writes: [] };
  }

  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const place = address(config);
    const { threadId, ns, checkpointId } = place;
    if (checkpointId === null) throw new Error("putWrites needs a checkpoint_id");
    const dumped = await this._dumpWrites(threadId, ns, checkpointId, taskId, writes as [string, unknown][]);
    const rows = dumped.map((row) => ({
      checkpointId,
      taskId,
      idx: row[4],
      channel: row[5],
      type: row[6],
      blob: toBuffer(row[7]),
    }));
    const isSpecial = writes.every(([channel]) => channel in WRITES_IDX_MAP);
    if (!isSpecial) await this.#held.hold(place, { checkpoints: [], blobs: [], writes: rows });
    else if (!(await replaceWrites(this.#patient, place, rows))) throw new FencedError(threadId);
  }

  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (config.configurable?.thread_id === undefined) return undefined;
    const { threadId, ns, checkpointId, fence } = address(config);
    const rows = await (fence === null ? this.#db : this.#patient).query<Row>(SELECT_ONE, [
      threadId,
      ns,
      checkpointId,
    ]);
    const [tuple] = await this.#toTuples(rows);
    if (tuple) {
      for (const watcher of this.#watchers.of(threadId, fence)) watcher.onLoad?.(ns, tuple.checkpoint);
    }
    return tuple;
  }

  override async *list(
    config: RunnableConfig,
    options: CheckpointListOptions = {},
  ): AsyncGenerator<CheckpointTuple> {
    const { configurable = {} } = config;
    const { filter, before, limit } = options;
    const rows = await this.#db.query<Row>(SELECT_LIST, [
      configurable.thread_id ?? null,
      configurable.checkpoint_ns ?? null,
      configurable.checkpoint_id ?? null,
      filter && Object.keys(filter).length > 0 ? toStorable(filter) : null,
      before?.configurable?.checkpoint_id ?? null,
      limit ?? null,
    ]);
    yield* await this.#toTuples(rows);
  }

  /**
   * The newest checkpoint of the root graph of each of these threads that has one, by thread. With `channels`, their
   * other values are left out.
   */
  async heads(
    threadIds: readonly string[],
    channels?: readonly string[],
  ): Promise<Map<string, CheckpointTuple>> {
    const rows = await this.#db.query<Row>(SELECT_HEADS, [threadIds, channels ?? null]);
    const tuples = await Promise.all(rows.map((row) => this.#toTuples([row])));
    return new Map(tuples.flat().map((tuple) => [String(tuple.config.configurable?.thread_id), tuple]));
  }

  /** The same on a transaction: what it writes is there when that is committed. */
  within(tx: Queryable): Checkpointer {
    return new Checkpointer({ ...this.#db, query: (text, values) => tx.query(text, values) }, tx);
  }

  override async deleteThread(threadId: string): Promise<void> {
    await this.#db.query(DELETE_THREAD, [threadId]);
  }

  /** The pool belongs to the app. */
  override async end(): Promise<void> {}

  async #toTuples(rows: Row[]): Promise<CheckpointTuple[]> {
    await this.#addPendingSends(rows);
    return Promise.all(
      rows.map(async (row) => {
        const at = (checkpoint_id: string) => ({
          configurable: { thread_id: row.thread_id, checkpoint_ns: row.checkpoint_ns, checkpoint_id },
        });
        const [checkpoint, pendingWrites] = await Promise.all([
          this._loadCheckpoint(row.checkpoint, row.channel_values),
          this._loadWrites(row.pending_writes),
        ]);
        return {
          config: at(row.checkpoint_id),
          checkpoint,
          metadata: decode(row.metadata) as CheckpointMetadata,
          ...(row.parent_checkpoint_id === null ? {} : { parentConfig: at(row.parent_checkpoint_id) }),
          pendingWrites,
        };
      }),
    );
  }

  async #addPendingSends(rows: Row[]): Promise<void> {
    const old = rows.filter((row) => row.checkpoint.v < 4 && row.parent_checkpoint_id !== null);
    const [first] = old;
    if (!first) return;
    type Sends = { checkpoint_id: string; pending_sends: [Uint8Array, Uint8Array][] };
    const sends = await this.#db.query<Sends>(SELECT_PENDING_SENDS, [
      first.thread_id,
      old.map((row) => row.parent_checkpoint_id),
      TASKS,
    ]);
    for (const row of old) {
      const found = sends.find((send) => send.checkpoint_id === row.parent_checkpoint_id);
      if (found) await this._migratePendingSends(found.pending_sends, row);
    }
  }
}

function address({ configurable = {} }: RunnableConfig): Address {
  const { thread_id, checkpoint_ns, checkpoint_id } = configurable;
  if (typeof thread_id !== "string") throw new Error("configurable.thread_id is missing");
  return {
    threadId: thread_id,
    ns: typeof checkpoint_ns === "string" ? checkpoint_ns : "",
    checkpointId: typeof checkpoint_id === "string" && checkpoint_id !== "" ? checkpoint_id : null,
    fence: configurable[FENCE_KEY] === undefined ? null : String(configurable[FENCE_KEY]),
  };
}

// The thread and the checkpoint are columns; LangGraph reads `run_id` to tell a run that goes on from a new one.
const NOT_METADATA = new Set(["thread_id", "checkpoint_id", "checkpoint_ns", "checkpoint_map"]);

/** The run's metadata under the checkpoint's own: the history is searched by both. */
function toMetadata(
  { metadata: runMetadata = {}, configurable }: RunnableConfig,
  metadata: CheckpointMetadata,
): string {
  const kept = Object.entries(runMetadata).filter(([key]) => !key.startsWith("__") && !NOT_METADATA.has(key));
  const version = configurable?.[GRAPH_VERSION_KEY];
  const noted = version === undefined ? {} : { graph_version: version };
  return toStorable({ ...Object.fromEntries(kept), ...noted, ...metadata });
}

const toStorable = (value: object) => storableJson(dump(value));

const toBuffer = (bytes: Uint8Array | undefined) =>
  bytes === undefined ? null : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
