// Copies the checkpoints of a thread from one PostgresSaver's tables to another's, in a transaction of the caller's.
import {
  BATCH,
  type BlobName,
  type CheckpointRow,
  insertBlobs,
  insertCheckpoints,
  insertWrites,
  selectBlobs,
  selectCheckpoints,
  selectTypes,
  selectWrites,
  type ThreadRows,
} from "../db/checkpoint-rows.sql.ts";
import type { VersionChange } from "../db/stock-versions.ts";

/** Why a thread is not copied; nothing of it was changed. The message says what to do. */
export class TransferError extends Error {}

/**
 * Adds the checkpoints that `to` does not have yet.
 * @returns how many were added: none when `to` has them all, and perhaps more
 * @throws TransferError when there is nothing to copy, when both sides have gone on, or when it cannot be read here
 */
export async function copyCheckpoints(
  from: ThreadRows,
  to: ThreadRows,
  changeVersions: () => VersionChange,
): Promise<number> {
  const source = await selectCheckpoints(from);
  if (source.length === 0) throw new TransferError("There is no checkpoint of this thread.");
  await checkTypes(from);
  const there = new Map((await selectCheckpoints(to)).map((row) => [keyOf(row), row]));
  const added = source.filter((row) => !there.has(keyOf(row)));
  if (added.length === 0) return 0;
  const keys = new Set(source.map(keyOf));
  if ([...there.keys()].some((key) => !keys.has(key))) {
    throw new TransferError("It has gone on on both sides. Delete it on the one that is to be overwritten.");
  }

  const { rows, blobs } = renumber(source, there, changeVersions);
  for (const page of inPages(blobs)) await insertBlobs(to, await selectBlobs(from, page));
  await insertCheckpoints(to, rows);
  for (const page of inPages(source)) await insertWrites(to, await selectWrites(from, page));
  return rows.length;
}

/** The checkpoints that are not there yet, with the versions of the other side, and the values that they need. */
function renumber(
  source: readonly CheckpointRow[],
  there: ReadonlyMap<string, CheckpointRow>,
  changeVersions: () => VersionChange,
) {
  const changes = new Map<string, VersionChange>();
  const rows: CheckpointRow[] = [];
  const blobs = new Map<string, BlobName>();
  for (const row of source) {
    const change = changes.get(row.checkpoint_ns) ?? changeVersions();
    changes.set(row.checkpoint_ns, change);
    const known = there.get(keyOf(row));
    if (known) {
      change.learn(row.checkpoint, known.checkpoint);
      continue;
    }
    const checkpoint = change.change(row.checkpoint);
    rows.push({ ...row, checkpoint });
    for (const [channel, version] of Object.entries(row.checkpoint.channel_versions ?? {})) {
      const newVersion = String(checkpoint.channel_versions?.[channel]);
      const name = { checkpoint_ns: row.checkpoint_ns, channel, version: String(version), newVersion };
      blobs.set(JSON.stringify(Object.values(name)), name);
    }
  }
  return { rows, blobs: [...blobs.values()] };
}

async function checkTypes(from: ThreadRows): Promise<void> {
  const types = (await selectTypes(from)).map(({ type }) => type);
  const unknown = types.filter((type) => !["json", "bytes", "empty"].includes(type));
  if (unknown.length > 0) {
    throw new TransferError(
      `Its values are stored as ${unknown.join(", ")}: it was not written by LangGraph.js, and cannot be read here.`,
    );
  }
}

const keyOf = (row: CheckpointRow) => JSON.stringify([row.checkpoint_ns, row.checkpoint_id]);

function* inPages<Item>(items: readonly Item[]): Generator<Item[]> {
  for (let start = 0; start < items.length; start += BATCH) yield items.slice(start, start + BATCH);
}
