// Brings a database to the newest schema: the numbered files of migrations/, each once, in order. A transaction lock
// makes any number of processes that start at once wait for the first one.
import { readdirSync, readFileSync } from "node:fs";
import { StartupError } from "../errors.ts";
import type { Database } from "./database.ts";

const FOLDER = new URL("./migrations/", import.meta.url);
/** Longest wait for one statement: for other servers that migrate, or for an index on a large table. */
const TIMEOUT_MS = 3_600_000;
/** Key of the advisory lock, unique within a database: "heddle" in ASCII. */
const LOCK_KEY = 0x68_65_64_64_6c_65;

interface Migration {
  readonly number: number;
  readonly name: string;
  readonly sql: string;
}

function readMigrations(): Migration[] {
  return readdirSync(FOLDER)
    .filter((file) => file.endsWith(".sql"))
    .sort()
    .map((file) => ({
      number: Number.parseInt(file, 10),
      name: file.replace(/\.sql$/, ""),
      sql: readFileSync(new URL(file, FOLDER), "utf8"),
    }));
}

/**
 * Applies what is missing, all of it in one transaction: a process killed in the middle leaves the schema as it was.
 * @returns the names of the migrations that were applied
 * @throws StartupError when the database is of a newer Heddle
 */
export async function migrate(db: Database): Promise<string[]> {
  const migrations = readMigrations();
  return db.transaction(
    async (tx) => {
      // A transaction lock, not a session lock: it works through a connection pooler and cannot be left behind.
      // The wait may be longer than lock_timeout when another process migrates a large database.
      await tx.query("set local lock_timeout = 0");
      await tx.query("set local statement_timeout = 0");
      await tx.query("select pg_advisory_xact_lock($1::bigint)", [LOCK_KEY]);
      await tx.query("create schema if not exists heddle");
      await tx.query(
        `create table if not exists heddle.migrations (
         number integer primary key,
         name text not null,
         applied_at timestamptz not null default now()
       )`,
      );
      const rows = await tx.query<{ number: number; name: string }>(
        "select number, name from heddle.migrations",
      );
      const applied = new Set(rows.map((row) => row.number));
      const newest = Math.max(0, ...applied);
      const known = migrations.at(-1)?.number ?? 0;
      if (newest > known) {
        throw new StartupError(
          `The database has schema ${newest}, but this Heddle knows only ${known}: a newer version has used it.`,
          { next: "Start the newer version, or use another database." },
        );
      }
      const missing = migrations.filter((migration) => !applied.has(migration.number));
      for (const migration of missing) {
        await tx.query("insert into heddle.migrations (number, name) values ($1::integer, $2::text)", [
          migration.number,
          migration.name,
        ]);
        await tx.query(migration.sql);
      }
      return missing.map((migration) => migration.name);
    },
    { timeoutMs: TIMEOUT_MS },
  );
}
