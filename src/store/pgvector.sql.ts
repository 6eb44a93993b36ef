// The statements that need the extension pgvector: whether it is there, its index, and what comes nearest by it. Its names
// are written with their schema, since it may lie in any.
import type { Queryable } from "../db/database.ts";
import { liesIn, type Place, placeValues } from "./search.sql.ts";

/** What the vectors of one server's index are for pgvector. */
export interface Near {
  /** Where the extension lies, as SQL writes it. */
  readonly schema: string;
  readonly dims: number;
}

/** Keys of the advisory locks: "near" in ASCII. */
const SETUP_KEY = 0x6e_65_61_72;
const BUILD_KEY = SETUP_KEY + 1;

/** Two servers that make an extension at the same time fail. Ends with the transaction. */
export const lockSetup = (tx: Queryable) => tx.query(`select pg_advisory_xact_lock(${SETUP_KEY})`);

/** No row: this PostgreSQL has no pgvector. `installed` and `schema` null: this database has none. */
export const selectExtension = (db: Queryable) =>
  db.query<{ available: string; installed: string | null; schema: string | null }>(
    `select a.default_version as available, e.extversion as installed, quote_ident(n.nspname) as schema
     from pg_available_extensions a
     left join pg_extension e on e.extname = a.name
     left join pg_namespace n on n.oid = e.extnamespace
     where a.name = 'vector'`,
  );

export const createExtension = (tx: Queryable) => tx.query("create extension if not exists vector");

/** Fails where this role may not use it. */
export const tryExtension = (db: Queryable, schema: string) =>
  db.query(`select '[1]'::${schema}.halfvec operator(${schema}.<#>) '[1]'::${schema}.halfvec`);

const toIndexName = ({ dims }: Near) => `store_vectors_near_${dims}`;

// Halves of 16 bits: half the room, and up to 4,000 dimensions. What they find is compared anew in 32 bits.
const toHalf = (vector: string, { schema, dims }: Near) => `${vector}::${schema}.halfvec(${dims})`;

/** The cosine, since all are of length 1. Never -0. */
const cosine = (vector: string, query: string, { schema, dims }: Near) =>
  `0 - (${vector}::${schema}.vector(${dims}) operator(${schema}.<#>) ${query}::${schema}.vector(${dims}))`;

/** Vectors of other dimensions, which another configuration has left, are not compared. */
const isOfIndex = (vector: string, { dims }: Near) => `cardinality(${vector}) = ${dims}`;

/** No row: there is none. Not `valid`: being built, or left so by who died at it. */
export const selectNearIndex = (db: Queryable, near: Near) =>
  db.query<{ valid: boolean }>(
    "select indisvalid as valid from pg_index where indexrelid = to_regclass($1::text)",
    [`heddle.${toIndexName(near)}`],
  );

/** True for one server only, until its connection ends. */
export const tryLockBuild = (connection: Queryable) =>
  connection.query<{ locked: boolean }>(`select pg_try_advisory_lock(${BUILD_KEY}) as locked`);

/**
 * For a connection that builds. Without helpers, which would share memory, of which a container has little; the graph is
 * built in memory of its own, and far slower when that does not hold it.
 */
export const allowBuild = (connection: Queryable) =>
  connection.query(
    `select set_config('statement_timeout', '0', false), set_config('lock_timeout', '0', false),
       set_config('max_parallel_maintenance_workers', '0', false),
       set_config('maintenance_work_mem', greatest(setting::bigint, 524288)::text || 'kB', false)
     from pg_settings where name = 'maintenance_work_mem'`,
  );

export const dropNearIndex = (connection: Queryable, near: Near) =>
  connection.query(`drop index concurrently if exists heddle.${toIndexName(near)}`);

/** Puts go on meanwhile. By inner product and not by cosine, whose index leaves out vectors of zeros. */
export const createNearIndex = (connection: Queryable, near: Near) =>
  connection.query(
    `create index concurrently if not exists ${toIndexName(near)} on heddle.store_vectors
     using hnsw ((${toHalf("embedding", near)}) ${near.schema}.halfvec_ip_ops)
     where ${isOfIndex("embedding", near)}`,
  );

/** How many vectors a search looks at, counted up to `limit`. */
export const countVectors = (db: Queryable, place: Place, indexId: number, limit: number) =>
  db.query<{ count: number }>(
    `select count(*)::integer as count from (
       select from heddle.store_items i join heddle.store_vectors v on v.item_id = i.item_id
       where ${liesIn(place.prefix)} and i.index_id = $6::integer
       limit $7::bigint
     ) as counted`,
    [...placeValues(place), indexId, limit],
  );

export interface NearQuestion {
  readonly place: Place;
  readonly indexId: number;
  /** As PostgreSQL reads a `real[]`. */
  readonly query: string;
  /** Most items that are given. */
  readonly count: number;
}

export interface NearRow {
  readonly item_id: string;
  readonly score: number;
}

/** Compares all of them. */
export const selectBest = (db: Queryable, near: Near, { place, indexId, query, count }: NearQuestion) =>
  db.query<NearRow>(
    `select i.item_id, max(${cosine("v.embedding", "$7::real[]", near)}) as score
     from heddle.store_items i join heddle.store_vectors v on v.item_id = i.item_id
     where ${liesIn(place.prefix)} and i.index_id = $6::integer and ${isOfIndex("v.embedding", near)}
     group by i.item_id, i.created_at
     order by score desc, i.created_at, i.item_id
     limit $8::bigint`,
    [...placeValues(place), indexId, query, count],
  );

/** Until `leaveRanking`: compiling these statements, which look dearer than they are, would take seconds. */
export const enterRanking = (tx: Queryable) => tx.query("savepoint ranking; set local jit = off");

export const leaveRanking = (tx: Queryable) => tx.query("rollback to savepoint ranking");

/**
 * For `selectNearest`, until `leaveNearest`: the index is asked on and on till enough of what it gives is meant, and is
 * asked at all, whatever the statistics say of tables that have just been filled.
 */
export const enterNearest = (tx: Queryable) =>
  tx.query(
    `savepoint nearest;
     set local hnsw.iterative_scan = relaxed_order;
     set local hnsw.ef_search = 200;
     set local enable_seqscan = off`,
  );

export const leaveNearest = (tx: Queryable) => tx.query("rollback to savepoint nearest");

/**
 * The best of some `wanted` vectors that the index gives, nearly the nearest ones; `vectors` of them were found. That they
 * are meant is asked in a subquery of its own, so that the index is gone through first, in its order; "offset 0" makes it
 * look for the item by its number first.
 */
export const selectNearest = (
  tx: Queryable,
  near: Near,
  { place, indexId, query, count }: NearQuestion,
  wanted: number,
) =>
  tx.query<NearRow & { vectors: number }>(
    `with nearest as materialized (
       select v.item_id, v.embedding
       from heddle.store_vectors v
       where ${isOfIndex("v.embedding", near)}
         and (
           select true from (select * from heddle.store_items s where s.item_id = v.item_id offset 0) as i
           where ${liesIn(place.prefix)} and i.index_id = $6::integer
         )
       order by ${toHalf("v.embedding", near)} operator(${near.schema}.<#>) ${toHalf("$7::real[]", near)}
       limit $8::bigint
     ),
     best as (
       select n.item_id, max(${cosine("n.embedding", "$7::real[]", near)}) as score
       from nearest n group by n.item_id
     )
     select i.item_id, b.score, (select count(*) from nearest)::integer as vectors
     from best b join heddle.store_items i on i.item_id = b.item_id
     order by b.score desc, i.created_at, i.item_id
     limit $9::bigint`,
    [...placeValues(place), indexId, query, wanted, count],
  );
