// Databases with pgvector and without it.
import { inject } from "vitest";
import { createDatabase, type Database } from "../../src/db/database.ts";

/** A PostgreSQL that has pgvector: TEST_PGVECTOR_URL, or that of the tests if it has it. */
export async function findPgvectorServer(): Promise<string | undefined> {
  const asked = process.env.TEST_PGVECTOR_URL || undefined;
  const url = asked ?? inject("databaseUrl");
  const db = createDatabase({ url, max: 1, onError: () => undefined });
  try {
    const rows = await db.query("select from pg_available_extensions where name = 'vector'");
    // One that was asked for must have it: no silent pass.
    if (asked && rows.length === 0) throw new Error("TEST_PGVECTOR_URL has no pgvector");
    return rows.length === 0 ? undefined : url;
  } finally {
    await db.close();
  }
}

/** As for somebody who may not make extensions, where none has been made. */
export function withoutExtensions(db: Database): Database {
  return {
    ...db,
    transaction: (work, options) =>
      db.transaction(
        (tx) =>
          work({
            query: (text, values) =>
              text.startsWith("create extension")
                ? Promise.reject(new Error("permission denied to create extension"))
                : tx.query(text, values),
          }),
        options,
      ),
  };
}
