// The statements that name items: read, written, deleted. What is asked for comes as one JSON parameter, so that the text
// of a statement is always the same.
import type { Queryable } from "../db/database.ts";
import { inScope } from "../db/scope.ts";
import { COLUMNS, described, IS_ALIVE, type ItemRow, isVisible, type Reader, touched } from "./parts.sql.ts";

/** Key of the advisory locks: "stor" in ASCII. */
const LOCK_KEY = 0x73_74_6f_72;

/**
 * For a transaction that puts at several addresses: two of them would wait for each other's rows. By buckets, since
 * PostgreSQL has room for some thousand locks only.
 */
export const lockAddresses = (tx: Queryable, addresses: readonly string[]) =>
  tx.query(
    `select pg_advisory_xact_lock(${LOCK_KEY}, bucket)
     from (
       select distinct (hashtextextended(address, 0) & 63)::integer as bucket
       from unnest($1::text[]) as address
       order by bucket
     ) as buckets`,
    [addresses],
  );

interface Get {
  readonly namespace: readonly string[];
  readonly key: string;
}

/** The items that are there, each with the number of its question in `n`, from 1. */
export const selectItems = (
  db: Queryable,
  { owner, scope }: Reader,
  gets: readonly Get[],
  refresh: boolean,
) =>
  db.query<ItemRow & { n: number; visible: boolean }>(
    `with wanted as (
       select n::integer, item ->> 'key' as key,
         array(select jsonb_array_elements_text(item -> 'namespace')) as namespace
       from jsonb_array_elements($2::jsonb) with ordinality as w (item, n)
     ),
     found as (
       select w.n, ${COLUMNS}, ${isVisible(3)} as visible
       from wanted w join heddle.store_items i
         on i.owner = $1::text and i.namespace = w.namespace and i.key = w.key and ${IS_ALIVE}
     ),
     ${touched(4)}
     select * from found`,
    [owner, JSON.stringify(gets), scope, refresh],
  );

export interface Put {
  readonly namespace: readonly string[];
  readonly key: string;
  /** JSON text in the serializer's form; undefined deletes. */
  readonly value: string | undefined;
  readonly ttlMinutes: number | null;
  /** Paths to embed; null: those of the index. */
  readonly indexFields: readonly string[] | false | null;
  /** The index whose vectors go with it. */
  readonly indexId: number | null;
}

interface PutRow {
  /** Number of the put, from 1. */
  readonly n: number;
  /** What was written; null when nothing was, or when it was a deletion. */
  readonly item_id: string | null;
  /** Whether the fence was held. */
  readonly held: boolean;
  /** Whether there was an item that the scope does not show. */
  readonly hidden: boolean;
  /** Whether the scope shows what was to be written. */
  readonly permitted: boolean;
}

interface Writer extends Reader {
  readonly fence?: { readonly threadId: string; readonly token: string } | undefined;
}

/**
 * Writes and deletes, all or nothing; each address at most once. `for key share` waits for a claim of the thread that is
 * under way: what is put with a token is put before the next one is given out, or not at all.
 */
export const putItems = (db: Queryable, { owner, scope, fence }: Writer, puts: readonly Put[]) =>
  db.query<PutRow>(
    `with wanted as materialized (
       select n::integer, item ->> 'key' as key, item -> 'value' as value, item -> 'index_fields' as index_fields,
         array(select jsonb_array_elements_text(item -> 'namespace')) as namespace,
         (item ->> 'ttl_minutes')::double precision as ttl_minutes,
         (item ->> 'index_id')::integer as index_id,
         clock_timestamp() as at
       from jsonb_array_elements($2::jsonb) with ordinality as w (item, n)
     ),
     fence as materialized (
       select 1 from heddle.threads
       where thread_id = $4::uuid and fencing_token = $5::bigint
       for key share
     ),
     judged as materialized (
       select w.*,
         $4::uuid is null or exists (select 1 from fence) as held,
         i.item_id is not null and not ${isVisible(3)} as hidden,
         (w.value is null and i.item_id is not null)
           or ${inScope(3, described("w.value", "w.namespace", "w.key"))} as permitted
       from wanted w
       left join heddle.store_items i
         on i.owner = $1::text and i.namespace = w.namespace and i.key = w.key and ${IS_ALIVE}
     ),
     allowed as (
       select * from judged
       where not exists (select 1 from judged j where j.hidden or not (j.permitted and j.held))
     ),
     removed as (
       delete from heddle.store_items i using allowed a
       where a.value is null and i.owner = $1::text and i.namespace = a.namespace and i.key = a.key
         and ${isVisible(3)}
     ),
     written as (
       insert into heddle.store_items as i
         (owner, namespace, key, value, ttl_minutes, expires_at, index_fields, index_id, created_at, updated_at)
       select $1::text, a.namespace, a.key, a.value, a.ttl_minutes,
         now() + a.ttl_minutes * interval '1 minute',
         nullif(a.index_fields, 'null'), a.index_id,
         -- In the order of the puts, also for those of one moment.
         a.at + a.n * interval '1 microsecond', a.at + a.n * interval '1 microsecond'
       from allowed a
       where a.value is not null
       on conflict (owner, namespace, key) do update
       set value = excluded.value,
         ttl_minutes = excluded.ttl_minutes,
         expires_at = excluded.expires_at,
         index_fields = excluded.index_fields,
         index_id = excluded.index_id,
         -- One that has expired was no longer there.
         created_at = case when ${IS_ALIVE} then i.created_at else excluded.created_at end,
         updated_at = excluded.updated_at
       where not ${IS_ALIVE} or ${isVisible(3)}
       returning i.item_id, i.namespace, i.key
     )
     select j.n, w.item_id, j.held, j.hidden, j.permitted
     from judged j left join written w on w.namespace = j.namespace and w.key = j.key
     order by j.n`,
    [owner, toJson(puts), scope, fence?.threadId ?? null, fence?.token ?? null],
  );

// The values are JSON text already.
const toJson = (puts: readonly Put[]) =>
  `[${puts
    .map(({ namespace, key, value, ttlMinutes, indexFields, indexId }) => {
      const rest = { namespace, key, ttl_minutes: ttlMinutes, index_fields: indexFields, index_id: indexId };
      const json = JSON.stringify(rest);
      return value === undefined ? json : `{"value":${value},${json.slice(1)}`;
    })
    .join(",")}]`;

/** Items by number, in any order. */
export const selectItemsById = (db: Queryable, ids: readonly string[], refresh: boolean) =>
  db.query<ItemRow>(
    `with found as (
       select ${COLUMNS} from heddle.store_items i where i.item_id = any ($1::bigint[])
     ),
     ${touched(2)}
     select * from found`,
    [ids, refresh],
  );

/** Deletes some of those whose time is over; a row for each. */
export const deleteExpired = (db: Queryable, limit: number) =>
  db.query<{ item_id: string }>(
    `delete from heddle.store_items
     where item_id in (
       select item_id from heddle.store_items
       where expires_at <= now()
       order by expires_at
       limit $1::integer
       for update skip locked
     )
     returning item_id`,
    [limit],
  );
