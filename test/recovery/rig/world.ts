// The world of one scenario: a database of its own on the rig's PostgreSQL, the scripted model, and servers. Everything
// in it ends with `close`.
import { mkdirSync } from "node:fs";
import path from "node:path";
import { createDatabase, type Database } from "../../../src/db/database.ts";
import { migrate } from "../../../src/db/migrate.ts";
import { installAudit } from "./audit.ts";
import type { Contents } from "./contents.ts";
import { readContents } from "./contents.ts";
import type { Custody } from "./custody.ts";
import { createHistory, type History } from "./history.ts";
import { startModel } from "./model.ts";
import { MUTANTS } from "./mutants.ts";
import type { RigPostgres } from "./postgres.ts";
import { createRandom, type Random } from "./random.ts";
import { createSupervisor, type Supervisor } from "./supervisor.ts";

/** Short, so that a scenario with many faults is short. */
export const LEASE_SECONDS = 3;

export interface World {
  readonly random: Random;
  readonly history: History;
  readonly custody: Custody;
  readonly postgres: RigPostgres;
  readonly db: Database;
  readonly databaseUrl: string;
  readonly servers: Supervisor;
  /** Everything is multiplied by it in the long profile. */
  readonly times: number;
  contents(): Promise<Contents>;
  close(): Promise<void>;
}

interface WorldOptions {
  readonly custody: Custody;
  readonly postgres: RigPostgres;
  readonly name: string;
  readonly seed: string;
  readonly times: number;
  readonly mutant: string | undefined;
}

export async function createWorld(options: WorldOptions): Promise<World> {
  const { custody, postgres, name, seed, times, mutant } = options;
  const admin = createDatabase({ url: postgres.url("postgres"), max: 1, onError: () => undefined });
  await admin.query(`drop database if exists ${name} with (force)`);
  await admin.query(`create database ${name}`);
  await admin.close();
  const databaseUrl = postgres.url(name);
  const db = createDatabase({ url: databaseUrl, max: 4, onError: () => undefined });
  await migrate(db);
  for (const patch of (mutant && MUTANTS.get(mutant)?.functions) || []) await mutateFunction(db, patch);
  await installAudit(db);

  const folder = path.join(custody.folder, name);
  mkdirSync(folder, { recursive: true });
  const history = createHistory(path.join(folder, "history.jsonl"));
  const model = await startModel(history);
  const servers = createSupervisor({
    custody,
    history,
    folder,
    databaseUrl,
    modelUrl: model.url,
    leaseSeconds: LEASE_SECONDS,
    mutant,
  });
  return {
    random: createRandom(`${seed}/${name}`),
    history,
    custody,
    postgres,
    db,
    databaseUrl,
    servers,
    times,
    contents: () => readContents(db),
    async close() {
      await servers.close();
      await model.close();
      await db.close();
    },
  };
}

async function mutateFunction(
  db: Database,
  { name, find, put }: { name: string; find: string; put: string },
): Promise<void> {
  const [row] = await db.query<{ text: string }>("select pg_get_functiondef($1::regproc) as text", [
    `heddle.${name}`,
  ]);
  const text = row?.text ?? "";
  if (text.split(find).length !== 2)
    throw new Error(`The anchor of a mutant is not once in ${name}: ${find}`);
  await db.query(text.replace(find, () => put));
}
