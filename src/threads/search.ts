// Finds threads by what is in their rows, and by their state's values, which no row holds.
import type { Database } from "../db/database.ts";
import { contains } from "./contains.ts";
import {
  countThreads,
  selectIdsWithState,
  selectPageOfThreads,
  selectThreads,
  type ThreadFilter,
  type ThreadOrder,
} from "./search.sql.ts";
import type { ThreadStates } from "./state.ts";
import type { ThreadRow } from "./threads.sql.ts";

export interface ThreadQuery extends ThreadFilter {
  /** What the state must contain. */
  readonly values?: Record<string, unknown> | undefined;
}

export interface ThreadSearch extends ThreadQuery, ThreadOrder {
  readonly limit: number;
  readonly offset: number;
}

interface SearchDeps {
  readonly db: Database;
  readonly states: Pick<ThreadStates, "values">;
  /** JSON as clients get it. */
  readonly toJson: (value: unknown) => string;
}

/** Threads whose state is looked at in one go. */
const BATCH = 500;
const BY_ID: ThreadOrder = { sortBy: "thread_id", sortOrder: "asc" };

/** A page, and how many there are in all. */
export async function searchThreads(
  deps: SearchDeps,
  { values, limit, offset, sortBy, sortOrder, ...filter }: ThreadSearch,
): Promise<{ threads: ThreadRow[]; total: number }> {
  const { db } = deps;
  const order = { sortBy, sortOrder };
  if (isEmpty(values)) {
    const rows = await selectPageOfThreads(db, filter, order, { limit, offset });
    const [first] = rows;
    const total = first ? Number(first.total) : offset === 0 ? 0 : await countThreads(db, filter);
    return { threads: rows.map(({ total: _, ...thread }) => thread), total };
  }
  const ids = await findByValues(deps, filter, values, order);
  const threads = await selectThreads(db, ids.slice(offset, offset + limit), filter.scope);
  return { threads, total: ids.length };
}

export async function countMatching(deps: SearchDeps, { values, ...filter }: ThreadQuery): Promise<number> {
  if (isEmpty(values)) return countThreads(deps.db, filter);
  return (await findByValues(deps, filter, values, BY_ID)).length;
}

/**
 * Reads the newest state of each thread that the rest of the filter leaves, of its channels only those that are asked
 * for. So what is found is what the thread shows.
 */
async function findByValues(
  { db, states, toJson }: SearchDeps,
  filter: ThreadFilter,
  values: Record<string, unknown>,
  order: ThreadOrder,
): Promise<string[]> {
  const candidates = (await selectIdsWithState(db, filter, order)).map((row) => row.thread_id);
  const found: string[] = [];
  for (let start = 0; start < candidates.length; start += BATCH) {
    const threads = await selectThreads(db, candidates.slice(start, start + BATCH), filter.scope);
    for await (const { thread, values: state } of states.values(threads, Object.keys(values))) {
      if (state !== undefined && contains(JSON.parse(toJson(pick(state, values))), values))
        found.push(thread.thread_id);
    }
  }
  return found;
}

/** Only what is asked for is made JSON. */
const pick = (state: unknown, asked: Record<string, unknown>) =>
  typeof state === "object" && state !== null
    ? Object.fromEntries(Object.entries(state).filter(([key]) => Object.hasOwn(asked, key)))
    : state;

const isEmpty = (values: Record<string, unknown> | undefined): values is undefined =>
  values === undefined || Object.keys(values).length === 0;
