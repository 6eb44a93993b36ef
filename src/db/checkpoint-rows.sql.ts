// The rows of a thread's checkpoints, in the tables of any PostgresSaver: ours (schema heddle) and the official one's.
import type { Queryable } from "./database.ts";
import type { StoredCheckpoint } from "./stock-versions.ts";

/** One thread in the tables of one schema. */
export interface ThreadRows {
  readonly db: Queryable;
  readonly schema: string;
  readonly threadId: string;
}

export interface CheckpointRow {
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
  readonly parent_checkpoint_id: string | null;
  readonly type: string | null;
  readonly checkpoint: StoredCheckpoint;
  /** JSON text, as it is. */
  readonly metadata: string;
}

/** Which version of a channel, and what it is called on the other side. */
export interface BlobName {
  readonly checkpoint_ns: string;
  readonly channel: string;
  readonly version: string;
  readonly newVersion: string;
}

export interface BlobRow extends Omit<BlobName, "version"> {
  readonly type: string;
  readonly blob: Buffer | null;
}

export interface WriteRow {
  readonly checkpoint_ns: string;
  readonly checkpoint_id: string;
  readonly task_id: string;
  readonly idx: number;
  readonly channel: string;
  readonly type: string | null;
  readonly blob: Buffer;
}

/** Rows that are read or written at once. A value of a channel may be large. */
export const BATCH = 50;

/** The schema of a session's own tables: rows that come from a file lie there until they are copied. */
export const STAGED = "pg_temp";

const table = (schema: string, name: string) => `"${schema.replaceAll('"', '""')}".${name}`;

export async function hasTables({ db, schema }: Pick<ThreadRows, "db" | "schema">): Promise<boolean> {
  const [row] = await db.query<{ there: boolean }>(
    `select to_regclass($1::text) is not null and to_regclass($2::text) is not null
       and to_regclass($3::text) is not null as there`,
    ["checkpoints", "checkpoint_blobs", "checkpoint_writes"].map((name) => table(schema, name)),
  );
  return row?.there ?? false;
}

export const selectThreadIds = ({ db, schema }: Pick<ThreadRows, "db" | "schema">) =>
  db.query<{ thread_id: string }>(
    `select distinct thread_id from ${table(schema, "checkpoints")} order by thread_id`,
  );

/** The oldest first: by the order in which our database took them, by the time in the ids elsewhere. */
export const selectCheckpoints = ({ db, schema, threadId }: ThreadRows) =>
  db.query<CheckpointRow>(
    `select checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata::text as metadata
     from ${table(schema, "checkpoints")} where thread_id = $1::text
     order by ${schema === "heddle" || schema === STAGED ? "seq" : "checkpoint_id"}`,
    [threadId],
  );

/** In which forms the values are stored. */
export const selectTypes = ({ db, schema, threadId }: ThreadRows) =>
  db.query<{ type: string }>(
    `select type from ${table(schema, "checkpoint_blobs")} where thread_id = $1::text
     union select coalesce(type, 'json') from ${table(schema, "checkpoint_writes")} where thread_id = $1::text`,
    [threadId],
  );

/** `seq` follows the order of the rows given. */
export const insertCheckpoints = ({ db, schema, threadId }: ThreadRows, rows: readonly CheckpointRow[]) =>
  db.query(
    `insert into ${table(schema, "checkpoints")}
       (thread_id, checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata)
     select $1::text, r.ns, r.id, r.parent, r.type, r.checkpoint::jsonb, r.metadata::jsonb
     from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[])
       with ordinality as r (ns, id, parent, type, checkpoint, metadata, number)
     order by r.number`,
    [
      threadId,
      rows.map((row) => row.checkpoint_ns),
      rows.map((row) => row.checkpoint_id),
      rows.map((row) => row.parent_checkpoint_id),
      rows.map((row) => row.type),
      rows.map((row) => JSON.stringify(row.checkpoint)),
      rows.map((row) => row.metadata),
    ],
  );

export const selectBlobs = ({ db, schema, threadId }: ThreadRows, names: readonly BlobName[]) =>
  db.query<BlobRow>(
    `select b.checkpoint_ns, b.channel, n.new_version as "newVersion", b.type, b.blob
     from unnest($2::text[], $3::text[], $4::text[], $5::text[]) as n (ns, channel, version, new_version)
     join ${table(schema, "checkpoint_blobs")} b
       on b.thread_id = $1::text and b.checkpoint_ns = n.ns and b.channel = n.channel and b.version = n.version`,
    [
      threadId,
      names.map((name) => name.checkpoint_ns),
      names.map((name) => name.channel),
      names.map((name) => name.version),
      names.map((name) => name.newVersion),
    ],
  );

/** A version has one value for ever: one that is there stays. */
export const insertBlobs = ({ db, schema, threadId }: ThreadRows, rows: readonly BlobRow[]) =>
  db.query(
    `insert into ${table(schema, "checkpoint_blobs")} (thread_id, checkpoint_ns, channel, version, type, blob)
     select $1::text, r.* from unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bytea[]) as r
     on conflict (thread_id, checkpoint_ns, channel, version) do nothing`,
    [
      threadId,
      rows.map((row) => row.checkpoint_ns),
      rows.map((row) => row.channel),
      rows.map((row) => row.newVersion),
      rows.map((row) => row.type),
      rows.map((row) => row.blob),
    ],
  );

export const selectWrites = (
  { db, schema, threadId }: ThreadRows,
  checkpoints: readonly { checkpoint_ns: string; checkpoint_id: string }[],
) =>
  db.query<WriteRow>(
    `select w.checkpoint_ns, w.checkpoint_id, w.task_id, w.idx, w.channel, w.type, w.blob
     from unnest($2::text[], $3::text[]) as c (ns, id)
     join ${table(schema, "checkpoint_writes")} w
       on w.thread_id = $1::text and w.checkpoint_ns = c.ns and w.checkpoint_id = c.id`,
    [threadId, checkpoints.map((row) => row.checkpoint_ns), checkpoints.map((row) => row.checkpoint_id)],
  );

/** Of a checkpoint that is there, the newest writes count: an interrupt may have been answered since. */
export const insertWrites = ({ db, schema, threadId }: ThreadRows, rows: readonly WriteRow[]) =>
  db.query(
    `insert into ${table(schema, "checkpoint_writes")}
       (thread_id, checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob)
     select $1::text, r.*
     from unnest($2::text[], $3::text[], $4::text[], $5::integer[], $6::text[], $7::text[], $8::bytea[]) as r
     on conflict (thread_id, checkpoint_ns, checkpoint_id, task_id, idx)
     do update set channel = excluded.channel, type = excluded.type, blob = excluded.blob`,
    [
      threadId,
      rows.map((row) => row.checkpoint_ns),
      rows.map((row) => row.checkpoint_id),
      rows.map((row) => row.task_id),
      rows.map((row) => row.idx),
      rows.map((row) => row.channel),
      rows.map((row) => row.type),
      rows.map((row) => row.blob),
    ],
  );

const KINDS = ["checkpoints", "checkpoint_blobs", "checkpoint_writes"] as const;

/** Tables like ours that are gone at the end of the transaction. */
export async function createStagedTables(tx: Queryable): Promise<void> {
  for (const name of KINDS) {
    await tx.query(
      `create temporary table ${name} (like heddle.${name} including defaults including identity including indexes)
       on commit drop`,
    );
  }
}

const ALL = {
  checkpoints: `select checkpoint_ns, checkpoint_id, parent_checkpoint_id, type, checkpoint, metadata::text as metadata
    from heddle.checkpoints where thread_id = $1::text order by seq`,
  checkpoint_blobs: `select checkpoint_ns, channel, version as "newVersion", type, blob
    from heddle.checkpoint_blobs where thread_id = $1::text order by checkpoint_ns, channel, version`,
  checkpoint_writes: `select checkpoint_ns, checkpoint_id, task_id, idx, channel, type, blob
    from heddle.checkpoint_writes where thread_id = $1::text order by checkpoint_ns, checkpoint_id, task_id, idx`,
};
interface Rows {
  readonly checkpoints: CheckpointRow;
  readonly checkpoint_blobs: BlobRow;
  readonly checkpoint_writes: WriteRow;
}

/** All rows of a thread of ours, some at a time. For a transaction, and one kind after the other. */
export async function* readAll<Kind extends keyof Rows>(
  tx: Queryable,
  kind: Kind,
  threadId: string,
): AsyncGenerator<Rows[Kind]> {
  await tx.query(`declare ${kind} no scroll cursor for ${ALL[kind]}`, [threadId]);
  for (;;) {
    const rows = await tx.query<Rows[Kind]>(`fetch ${BATCH} from ${kind}`);
    if (rows.length === 0) break;
    yield* rows;
  }
  await tx.query(`close ${kind}`);
}
