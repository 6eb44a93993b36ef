// The statements that look for items and namespaces.
import type { Queryable } from "../db/database.ts";
import { inScope } from "../db/scope.ts";
import { COLUMNS, IS_ALIVE, type ItemRow, isVisible, type Reader, touched } from "./parts.sql.ts";

/** A number for numbers, texts that are one, booleans and null; else SQL's null, which is no more and no less. */
const NUMBER = `case jsonb_typeof(f.found)
  when 'number' then f.found::numeric
  when 'boolean' then case when f.found = 'true' then 1 else 0 end
  when 'null' then 0
  when 'string' then case
    when length(f.found #>> '{}') < 400
      and f.found #>> '{}' ~ '^\\s*[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d{1,3})?\\s*$'
      then (f.found #>> '{}')::numeric
    when f.found #>> '{}' ~ '^\\s*$' then 0 end
  end`;

/** Whether the item meets all conditions of `toConditions`. */
const conditionsHold = (parameter: number) =>
  `not exists (
    select 1
    from jsonb_array_elements($${parameter}::jsonb) as c,
      lateral (
        select i.value -> (select jsonb_object_keys(c -> 'field')) as found, c -> 'operand' as operand
      ) as f
    where not coalesce(case c ->> 'operator'
      when 'eq' then f.found = f.operand
      when 'ne' then f.found is distinct from f.operand
      when 'in' then exists (select 1 from jsonb_array_elements(f.operand) as o where o = f.found)
      when 'nin' then not exists (select 1 from jsonb_array_elements(f.operand) as o where o = f.found)
      when 'gt' then ${NUMBER} > (f.operand #>> '{}')::numeric
      when 'gte' then ${NUMBER} >= (f.operand #>> '{}')::numeric
      when 'lt' then ${NUMBER} < (f.operand #>> '{}')::numeric
      when 'lte' then ${NUMBER} <= (f.operand #>> '{}')::numeric
    end, false)
  )`;

export interface Place extends Reader {
  /** Items under it are meant. */
  readonly prefix: readonly string[];
  /** JSON text of `toConditions`. */
  readonly conditions: string;
}

/** Parameters 1 to 5. In the collation "C" all that begins with a prefix lies before the prefix with U+0001 at its end. */
export const liesIn = (prefix: readonly string[]) =>
  `i.owner = $1::text
   and i.namespace >= $2::text[]
   and ${prefix.length === 0 ? "$3::text[] is null" : "i.namespace < $3::text[]"}
   and ${IS_ALIVE} and ${conditionsHold(4)} and ${isVisible(5)}`;

export const placeValues = ({ owner, scope, prefix, conditions }: Place) => [
  owner,
  prefix,
  upperBound(prefix),
  conditions,
  scope,
];

const upperBound = (prefix: readonly string[]) =>
  prefix.length === 0 ? null : [...prefix.slice(0, -1), `${prefix.at(-1)}\u0001`];

interface Page {
  readonly limit: number;
  readonly offset: number;
}

/** In the order in which they were made. */
export const searchItemRows = (db: Queryable, place: Place, { limit, offset }: Page, refresh: boolean) =>
  db.query<ItemRow>(
    `with found as (
       select ${COLUMNS} from heddle.store_items i
       where ${liesIn(place.prefix)}
       order by i.created_at, i.item_id
       limit $6::bigint offset $7::bigint
     ),
     ${touched(8)}
     select * from found order by created_at, item_id`,
    [...placeValues(place), limit, offset, refresh],
  );

/** Those of them that have no vector of the index. */
export const searchItemsWithoutVector = (
  db: Queryable,
  place: Place,
  indexId: number,
  { limit, offset }: Page,
) =>
  db.query<{ item_id: string }>(
    `select i.item_id from heddle.store_items i
     where ${liesIn(place.prefix)}
       and not (i.index_id is not distinct from $6::integer
         and exists (select 1 from heddle.store_vectors v where v.item_id = i.item_id))
     order by i.created_at, i.item_id
     limit $7::bigint offset $8::bigint`,
    [...placeValues(place), indexId, limit, offset],
  );

/**
 * Opens a cursor, in a transaction, over the vectors of what a search looks at; those of one item follow each other. They
 * are read only after the sort, which would have to carry them all.
 */
export const openVectors = (db: Queryable, place: Place, indexId: number) =>
  db.query(
    `declare vectors no scroll cursor for
     select item_id, array_send(embedding) as embedding
     from (
       select i.item_id, v.embedding
       from heddle.store_items i join heddle.store_vectors v on v.item_id = i.item_id
       where ${liesIn(place.prefix)} and i.index_id = $6::integer
       order by i.created_at, i.item_id
       offset 0
     ) as sorted`,
    [...placeValues(place), indexId],
  );

export const fetchVectors = (db: Queryable) =>
  db.query<{ item_id: string /** As array_send writes it. */; embedding: Buffer }>("fetch 500 from vectors");

export const closeVectors = (db: Queryable) => db.query("close vectors");

export interface NamespaceMatch {
  readonly matchType: "prefix" | "suffix";
  /** "*" stands for any label. */
  readonly path: readonly string[];
}

/** Namespaces that hold items, in order; those that are longer are cut to `maxDepth`. `limit` null: all. */
export const selectNamespaces = (
  db: Queryable,
  { owner, scope }: Reader,
  list: {
    readonly matches: readonly NamespaceMatch[];
    readonly maxDepth: number | null;
    readonly limit: number | null;
    readonly offset: number;
  },
) => {
  const head = toHead(list.matches);
  return db.query<{ namespace: string[] }>(
    `with cut as (
       select distinct case when $3::integer is null then i.namespace else i.namespace[1:$3::integer] end as namespace
       from heddle.store_items i
       where i.owner = $1::text
         and i.namespace >= $7::text[]
         and ${head.length === 0 ? "$8::text[] is null" : "i.namespace < $8::text[]"}
         and ${IS_ALIVE}
         and not exists (
           select 1
           from jsonb_array_elements($2::jsonb) as m,
             lateral (
               select jsonb_array_length(m -> 'path') as length,
                 case m ->> 'matchType' when 'suffix' then cardinality(i.namespace) - jsonb_array_length(m -> 'path')
                   else 0 end as skipped
             ) as l
           where l.length > cardinality(i.namespace)
             or exists (
               select 1 from jsonb_array_elements_text(m -> 'path') with ordinality as p (label, at)
               where p.label <> '*' and i.namespace[(p.at + l.skipped)::integer] <> p.label
             )
         )
     )
     select namespace from cut
     where ${inScope(4, "jsonb_build_object('namespace', to_jsonb(namespace))")}
     order by namespace
     limit $5::bigint offset $6::bigint`,
    [
      owner,
      JSON.stringify(list.matches),
      list.maxDepth,
      scope,
      list.limit,
      list.offset,
      head,
      upperBound(head),
    ],
  );
};

/** What the namespaces begin with, as far as it is known: the index finds them by it. */
function toHead(matches: readonly NamespaceMatch[]): readonly string[] {
  const path = matches.find(({ matchType }) => matchType === "prefix")?.path ?? [];
  const wild = path.indexOf("*");
  return wild === -1 ? path : path.slice(0, wild);
}
