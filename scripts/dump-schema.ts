// Writes src/db/schema.sql: what the database looks like after all migrations, read back from PostgreSQL's catalog.
// `npm run schema` makes it anew; a test compares it. The embedded PostgreSQL brings no pg_dump.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { createDatabase, type Database, type Queryable } from "../src/db/database.ts";
import { startEmbedded } from "../src/db/embedded.ts";
import { migrate } from "../src/db/migrate.ts";

const HEADER = "-- Made by `npm run schema` from the migrations. Do not edit.\n";

/** The schema as text: tables with columns and constraints, indexes, functions, each by name. */
export const dumpSchema = (db: Database): Promise<string> =>
  db.transaction(async (tx) => {
    // PostgreSQL leaves out the names of schemas that are in the search path.
    await tx.query("set local search_path = ''");
    return dump(tx);
  });

async function dump(db: Queryable): Promise<string> {
  const tables = await db.query<{ name: string; columns: string; constraints: string | null }>(
    `select c.relname as name,
       (select string_agg(
          '  ' || a.attname || ' ' || format_type(a.atttypid, a.atttypmod)
          || case when a.attnotnull then ' not null' else '' end
          || case a.attidentity when 'a' then ' generated always as identity' else '' end
          || coalesce(case a.attgenerated when 's' then ' generated always as (' || pg_get_expr(d.adbin, d.adrelid) || ') stored'
               else ' default ' || pg_get_expr(d.adbin, d.adrelid) end, ''), E',\\n' order by a.attnum)
        from pg_attribute a left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
        where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
       (select string_agg('  constraint ' || o.conname || ' ' || pg_get_constraintdef(o.oid), E',\\n' order by o.conname)
        from pg_constraint o where o.conrelid = c.oid and o.contype <> 'n') as constraints
     from pg_class c where c.relnamespace = 'heddle'::regnamespace and c.relkind = 'r' order by c.relname`,
  );
  const indexes = await db.query<{ definition: string }>(
    `select pg_get_indexdef(i.indexrelid) as definition
     from pg_index i join pg_class c on c.oid = i.indexrelid
     where c.relnamespace = 'heddle'::regnamespace
       and not exists (select 1 from pg_constraint o where o.conindid = i.indexrelid)
     order by c.relname`,
  );
  const functions = await db.query<{ definition: string }>(
    `select pg_get_functiondef(p.oid) as definition
     from pg_proc p where p.pronamespace = 'heddle'::regnamespace order by p.proname`,
  );
  const triggers = await db.query<{ definition: string }>(
    `select pg_get_triggerdef(t.oid) as definition
     from pg_trigger t join pg_class c on c.oid = t.tgrelid
     where c.relnamespace = 'heddle'::regnamespace and not t.tgisinternal order by t.tgname`,
  );
  return [
    HEADER,
    ...tables.map(
      ({ name, columns, constraints }) =>
        `create table heddle.${name} (\n${[columns, constraints].filter(Boolean).join(",\n")}\n);\n`,
    ),
    `${indexes.map(({ definition }) => `${definition};`).join("\n")}\n`,
    ...[...functions, ...triggers].map(({ definition }) => `${definition.trim()};\n`),
  ].join("\n");
}

async function main(): Promise<void> {
  const dataDir = mkdtempSync(path.join(tmpdir(), "heddle-schema-"));
  const embedded = await startEmbedded({ dataDir, onEvent: () => undefined });
  const db = createDatabase({ url: embedded.url, max: 1, onError: () => undefined });
  await migrate(db);
  writeFileSync(new URL("../src/db/schema.sql", import.meta.url), await dumpSchema(db));
  await db.close();
  await embedded.stop();
  rmSync(dataDir, { recursive: true, force: true });
}

if (import.meta.main) await main();
