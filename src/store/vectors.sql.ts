// The statements on the vectors of items, and on the indexes that they were made for.
import type { Queryable } from "../db/database.ts";
import { toArrayLiteral } from "./vectors.ts";

export interface VectorRow {
  readonly itemId: string;
  readonly position: number;
  readonly embedding: Float32Array;
}

/** In the transaction that has written the items, whose rows are locked. */
export const deleteVectors = (db: Queryable, itemIds: readonly string[]) =>
  db.query("delete from heddle.store_vectors where item_id = any ($1::bigint[])", [itemIds]);

export const insertVectors = (db: Queryable, rows: readonly VectorRow[]) =>
  db.query(
    `insert into heddle.store_vectors (item_id, position, embedding)
     select item_id, position, embedding::real[]
     from unnest($1::bigint[], $2::integer[], $3::text[]) as row (item_id, position, embedding)`,
    [
      rows.map((row) => row.itemId),
      rows.map((row) => row.position),
      rows.map((row) => toArrayLiteral(row.embedding)),
    ],
  );

/** The index with this signature, which is now the one that was chosen last. */
export const chooseIndex = (db: Queryable, signature: string) =>
  db.query<{ index_id: number }>(
    `insert into heddle.store_indexes (signature, chosen_at) values ($1::text, clock_timestamp())
     on conflict (signature) do update set chosen_at = excluded.chosen_at
     returning index_id`,
    [signature],
  );

/** A row when this index is the one chosen last, and nobody else embeds for it: then the caller may, for some seconds. */
export const leaseEmbedding = (db: Queryable, indexId: number, { again }: { again: boolean }) =>
  db.query(
    `update heddle.store_indexes x
     set embedding_until = clock_timestamp() + interval '120 seconds'
     where x.index_id = $1::integer
       and ($2::boolean or x.embedding_until < clock_timestamp())
       and not exists (select 1 from heddle.store_indexes y where y.chosen_at > x.chosen_at)
     returning x.index_id`,
    [indexId, again],
  );

export const endEmbeddingLease = (db: Queryable, indexId: number) =>
  db.query("update heddle.store_indexes set embedding_until = '-infinity' where index_id = $1::integer", [
    indexId,
  ]);

export interface StaleItem {
  readonly item_id: string;
  readonly value: unknown;
  readonly index_fields: string[] | null;
  /** Changes with the item. */
  readonly version: string;
}

/** Items that are to have vectors of this index and have not. */
export const selectStaleItems = (db: Queryable, indexId: number, limit: number) =>
  db.query<StaleItem>(
    `select item_id, value, index_fields, xmin::text as version
     from heddle.store_items
     where (index_id is null or (index_id > 0 and index_id < $1::integer) or index_id > $1::integer)
       and (expires_at is null or expires_at > now())
     order by item_id
     limit $2::integer`,
    [indexId, limit],
  );

/** No row when the item has been changed since. Locks it. */
export const markEmbedded = (
  db: Queryable,
  { itemId, version, indexId }: { itemId: string; version: string; indexId: number },
) =>
  db.query<{ item_id: string }>(
    `update heddle.store_items set index_id = $3::integer
     where item_id = $1::bigint and xmin::text = $2::text
     returning item_id`,
    [itemId, version, indexId],
  );
