// What the statements on the store's items have in common: the rows, and who sees which.
import { inScope, type Scope } from "../db/scope.ts";

export interface ItemRow {
  readonly item_id: string;
  readonly namespace: string[];
  readonly key: string;
  /** In the serializer's form. */
  readonly value: unknown;
  readonly created_at: Date;
  readonly updated_at: Date;
}

/** Whose items a statement sees. */
export interface Reader {
  readonly owner: string;
  readonly scope?: Scope;
}

export const COLUMNS = "i.item_id, i.namespace, i.key, i.value, i.created_at, i.updated_at";

export const IS_ALIVE = "(i.expires_at is null or i.expires_at > now())";

/** What a scope is compared with: the value's fields, and where the item lies. */
export const described = (value: string, namespace: string, key: string) =>
  `(case when jsonb_typeof(${value}) = 'object' then ${value} else '{}' end
    || jsonb_build_object('namespace', to_jsonb(${namespace}), 'key', ${key}))`;

export const isVisible = (parameter: number) =>
  inScope(parameter, described("i.value", "i.namespace", "i.key"));

/** Begins the time of what was found anew. What somebody else is changing at this moment is left alone. */
export const touched = (parameter: number) =>
  `touched as (
    update heddle.store_items t
    set expires_at = now() + t.ttl_minutes * interval '1 minute'
    where $${parameter}::boolean and t.item_id in (
      select s.item_id from heddle.store_items s
      where s.item_id in (select item_id from found) and s.ttl_minutes is not null
      for update skip locked
    )
  )`;
