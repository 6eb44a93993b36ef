// The part of a named checkpoint that a restore needs: rows of LangGraph's checkpoints as they were, ids and all. A task's
// id, its subgraph's namespace and its interrupts' ids follow from the checkpoint's id, so what is put back keeps that.
import { randomBytes } from "node:crypto";
import { emptyCheckpoint } from "@langchain/langgraph-checkpoint";
import {
  type BlobName,
  insertBlobs,
  insertCheckpoints,
  insertWrites,
  selectBlobs,
  selectWrites,
} from "../db/checkpoint-rows.sql.ts";
import type { Queryable } from "../db/database.ts";
import { deleteOne, selectNamespaces, selectPresent, selectSnapshot, setAside } from "./snapshot.sql.ts";
import type { SnapshotRow } from "./workflow-checkpoint.ts";

/**
 * For a transaction that sees one moment. Empty when there is no such checkpoint. One that others have come after, `isPast`,
 * is without what its tasks have done since: whoever goes back to it does not want the same answers again.
 */
export async function readSnapshot(
  tx: Queryable,
  threadId: string,
  checkpointId: string | undefined,
): Promise<{ snapshot: SnapshotRow[]; isPast: boolean }> {
  const thread = { db: tx, schema: "heddle", threadId };
  const rows = await selectSnapshot(tx, threadId, checkpointId);
  const names: BlobName[] = rows.flatMap(({ checkpoint_ns, checkpoint }) =>
    Object.entries(checkpoint.channel_versions ?? {}).map(([channel, version]) => ({
      checkpoint_ns,
      channel,
      version: String(version),
      newVersion: String(version),
    })),
  );
  const blobs = await selectBlobs(thread, names);
  const writes = await selectWrites(thread, rows);
  const snapshot = rows.map(
    ({ checkpoint, is_past, ...row }): SnapshotRow => ({
      ...row,
      checkpoint: checkpoint as SnapshotRow["checkpoint"],
      values: blobs
        .filter(({ checkpoint_ns }) => checkpoint_ns === row.checkpoint_ns)
        .filter(({ channel, newVersion }) => String(checkpoint.channel_versions?.[channel]) === newVersion)
        .map(({ channel, newVersion, type, blob }) => [channel, newVersion, type, encode(type, blob)]),
      writes: (row.is_head && is_past ? [] : writes)
        .filter(({ checkpoint_ns }) => checkpoint_ns === row.checkpoint_ns)
        .filter(({ checkpoint_id }) => checkpoint_id === row.checkpoint_id)
        .map(({ task_id, idx, channel, type, blob }) => [
          task_id,
          idx,
          channel,
          type,
          encode(type, blob) ?? "",
        ]),
    }),
  );
  return { snapshot, isPast: rows.some(({ is_past }) => is_past) };
}

/**
 * Makes the snapshot's heads the newest of the thread. What has come of a head since stays in the history, below a copy of
 * it with another id. For a transaction that holds the thread.
 */
export async function writeSnapshot(
  tx: Queryable,
  threadId: string,
  snapshot: readonly SnapshotRow[],
  restoredFrom: string,
): Promise<void> {
  const thread = { db: tx, schema: "heddle", threadId };
  const heads = snapshot.filter(({ is_head }) => is_head);
  const present = await selectPresent(tx, threadId, snapshot);
  const isPresent = (row: SnapshotRow) =>
    present.some((at) => at.checkpoint_ns === row.checkpoint_ns && at.checkpoint_id === row.checkpoint_id);
  for (const { is_newest, ...row } of present) {
    if (
      !heads.some(
        (head) => head.checkpoint_ns === row.checkpoint_ns && head.checkpoint_id === row.checkpoint_id,
      )
    ) {
      continue;
    }
    if (is_newest) await deleteOne(tx, threadId, row);
    else await setAside(tx, threadId, row, toAsideId(row.checkpoint_id));
  }
  const rows = snapshot.filter((row) => row.is_head || !isPresent(row));
  await insertBlobs(
    thread,
    rows.flatMap(({ checkpoint_ns, values }) =>
      values.map(([channel, newVersion, type, data]) => ({
        checkpoint_ns,
        channel,
        newVersion,
        type,
        blob: data === null ? null : decode(type, data),
      })),
    ),
  );
  const fresh = await startAnew(tx, threadId, heads);
  await insertCheckpoints(thread, [
    ...rows.map((row) => ({ ...row, metadata: row.is_head ? toMetadata(row, restoredFrom) : row.metadata })),
    ...fresh,
  ]);
  await insertWrites(
    thread,
    rows.flatMap(({ checkpoint_ns, checkpoint_id, writes }) =>
      writes.map(([task_id, idx, channel, type, data]) => ({
        checkpoint_ns,
        checkpoint_id,
        task_id,
        idx,
        channel,
        type,
        blob: decode(type, data),
      })),
    ),
  );
}

/**
 * Subgraphs that had not begun yet when the snapshot was made, and have since: an empty checkpoint, which LangGraph takes
 * for none. What is there stays readable.
 */
async function startAnew(tx: Queryable, threadId: string, heads: readonly SnapshotRow[]) {
  const root = heads.find(({ checkpoint_ns }) => checkpoint_ns === "");
  if (!root) return [];
  const known = new Set(heads.map(({ checkpoint_ns }) => checkpoint_ns));
  const begun = await selectNamespaces(tx, threadId, root.checkpoint_id);
  return begun
    .filter(({ checkpoint_ns }) => !known.has(checkpoint_ns))
    .map(({ checkpoint_ns }) => {
      const { channel_values, ...checkpoint } = emptyCheckpoint();
      return {
        checkpoint_ns,
        checkpoint_id: checkpoint.id,
        parent_checkpoint_id: null,
        type: null,
        checkpoint: checkpoint as object as SnapshotRow["checkpoint"],
        metadata: JSON.stringify({ source: "input", step: -2, parents: { "": root.checkpoint_id } }),
      };
    });
}

/** Not of the run any more that has made it: what is restored is nobody's to roll back, and no run's end. */
function toMetadata({ metadata }: SnapshotRow, restoredFrom: string): string {
  const { run_id, ...rest } = JSON.parse(metadata) as Record<string, unknown>;
  return JSON.stringify({ ...rest, restored_from: restoredFrom });
}

/** The same time in it, which the official saver orders by, and another random part. */
const toAsideId = (checkpointId: string) => checkpointId.slice(0, -12) + randomBytes(6).toString("hex");

const encode = (type: string | null, blob: Buffer | null) =>
  blob?.toString(type === "json" ? "utf8" : "base64") ?? null;
const decode = (type: string | null, data: string) => Buffer.from(data, type === "json" ? "utf8" : "base64");
