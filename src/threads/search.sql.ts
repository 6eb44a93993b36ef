// The statements that look for threads.
import type { Queryable } from "../db/database.ts";
import { inScope, type Scope } from "../db/scope.ts";
import { COLUMNS, type ThreadRow, type ThreadStatus } from "./threads.sql.ts";

export interface ThreadFilter {
  readonly metadata?: Record<string, unknown> | undefined;
  readonly ids?: readonly string[] | undefined;
  readonly status?: ThreadStatus | undefined;
  readonly scope?: Scope;
}

export interface ThreadOrder {
  readonly sortBy: "thread_id" | "status" | "created_at" | "updated_at" | "state_updated_at";
  readonly sortOrder: "asc" | "desc";
}

const FILTER = `($1::jsonb is null or metadata @> $1::jsonb)
  and ($2::uuid[] is null or thread_id = any ($2::uuid[]))
  and ($3::text is null or status = $3::text)
  and ${inScope(4)}`;

const filterValues = ({ metadata, ids, status, scope }: ThreadFilter) => [
  metadata ?? null,
  ids ?? null,
  status ?? null,
  scope,
];

/** `sortBy` and `sortOrder` are of closed types, never text of a client. */
const orderBy = ({ sortBy, sortOrder }: ThreadOrder) => `order by ${sortBy} ${sortOrder}, thread_id`;

/** A page, and in `total` how many there are in all. */
export const selectPageOfThreads = (
  db: Queryable,
  filter: ThreadFilter,
  order: ThreadOrder,
  page: { readonly limit: number; readonly offset: number },
) =>
  db.query<ThreadRow & { total: string }>(
    `select ${COLUMNS}, count(*) over () as total from heddle.threads where ${FILTER} ${orderBy(order)}
     limit $5::bigint offset $6::bigint`,
    [...filterValues(filter), page.limit, page.offset],
  );

export async function countThreads(db: Queryable, filter: ThreadFilter): Promise<number> {
  const [row] = await db.query<{ count: string }>(
    `select count(*) as count from heddle.threads where ${FILTER}`,
    filterValues(filter),
  );
  return Number(row?.count ?? 0);
}

/** All of them, those that have a state. */
export const selectIdsWithState = (db: Queryable, filter: ThreadFilter, order: ThreadOrder) =>
  db.query<{ thread_id: string }>(
    `select thread_id from heddle.threads t
     where ${FILTER}
       and exists (select 1 from heddle.checkpoints c where c.thread_id = t.thread_id::text and c.checkpoint_ns = '')
     ${orderBy(order)}`,
    filterValues(filter),
  );

/** In the order of `ids`; one that is gone is left out. */
export const selectThreads = (db: Queryable, ids: readonly string[], scope: Scope) =>
  db.query<ThreadRow>(
    `select ${COLUMNS} from heddle.threads
     where thread_id = any ($1::uuid[]) and ${inScope(2)}
     order by array_position($1::uuid[], thread_id)`,
    [ids, scope],
  );
