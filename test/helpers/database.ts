// A database for one test file.
import { randomBytes } from "node:crypto";
import { inject } from "vitest";
import { createDatabase, type Database } from "../../src/db/database.ts";
import { migrate } from "../../src/db/migrate.ts";
import { withDatabase } from "./global-setup.ts";

export interface TestDatabase {
  readonly url: string;
  readonly db: Database;
  drop(): Promise<void>;
}

const ignore = () => undefined;

/**
 * A fresh database with the newest schema, or an `empty` one, on the PostgreSQL of the tests or on another `server`. Call
 * `drop` when the file is done.
 */
export async function createTestDatabase(
  options: { empty?: boolean; server?: string } = {},
): Promise<TestDatabase> {
  const serverUrl = options.server ?? inject("databaseUrl");
  const hasTemplate = serverUrl === inject("databaseUrl");
  const name = `heddle_test_${process.pid}_${randomBytes(4).toString("hex")}`;
  const admin = createDatabase({ url: serverUrl, max: 1, onError: ignore });
  await admin.query(
    `create database ${name} template ${options.empty || !hasTemplate ? "template0" : inject("templateName")}`,
  );
  const url = withDatabase(serverUrl, name);
  const db = createDatabase({ url, onError: ignore });
  if (!options.empty && !hasTemplate) await migrate(db);
  return {
    url,
    db,
    async drop() {
      await db.close();
      await admin.query(`drop database if exists ${name} with (force)`);
      await admin.close();
    },
  };
}
