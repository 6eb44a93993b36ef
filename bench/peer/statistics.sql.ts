// What PostgreSQL has counted.
import type { Queryable } from "../../src/db/database.ts";

/** The embedded PostgreSQL has the extension; it counts from the next start on. */
export const preloadStatements = (db: Queryable) =>
  db.query("alter system set shared_preload_libraries = 'pg_stat_statements'");

export const createStatements = (db: Queryable) =>
  db.query("create extension if not exists pg_stat_statements");

export async function selectBackendPid(db: Queryable): Promise<number> {
  const [row] = await db.query<{ pid: number }>("select pg_backend_pid() as pid");
  return row?.pid ?? 0;
}

export interface Counted {
  readonly statements: number;
  /**
   * Transactions that wrote, each of which waits for a flush of the log: by the ids that were given out, since what
   * pg_stat_database says is up to ten seconds late.
   */
  readonly commits: number;
  readonly walBytes: number;
}

/** Counts but little itself: one statement, one transaction that writes nothing. */
export async function selectCounted(db: Queryable): Promise<Counted> {
  const [row] = await db.query<Record<keyof Counted, string>>(
    `select
       (select coalesce(sum(calls), 0) from pg_stat_statements where toplevel) as "statements",
       pg_snapshot_xmax(pg_current_snapshot())::text as "commits",
       pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') as "walBytes"`,
  );
  if (!row) throw new Error("PostgreSQL told no counts");
  return {
    statements: Number(row.statements),
    commits: Number(row.commits),
    walBytes: Number(row.walBytes),
  };
}

/** The statements that took longest, all their calls together. */
export const selectTopStatements = (db: Queryable, limit: number) =>
  db.query<{ calls: string; total_ms: number; mean_ms: number; query: string }>(
    `select calls, total_exec_time as total_ms, mean_exec_time as mean_ms, query
     from pg_stat_statements where toplevel order by total_exec_time desc limit $1::integer`,
    [limit],
  );
