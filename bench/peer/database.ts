// The PostgreSQL under Heddle: the embedded one, started here, so that it can be told to count statements; or that of
// DATABASE_URL, which must be empty, on this machine, and have pg_stat_statements loaded.
import { writeFileSync } from "node:fs";
import path from "node:path";
import { createDatabase, type Database } from "../../src/db/database.ts";
import { startEmbedded } from "../../src/db/embedded.ts";
import type { Cleanup } from "./cleanup.ts";
import { parentOf } from "./process-tree.ts";
import {
  type Counted,
  createStatements,
  preloadStatements,
  selectBackendPid,
  selectCounted,
  selectTopStatements,
} from "./statistics.sql.ts";

export interface BenchDatabase {
  readonly url: string;
  /** The postmaster, parent of all of PostgreSQL's processes. */
  readonly pid: number;
  counted(): Promise<Counted>;
  /** Writes down where the time of all statements went. */
  writeTopStatements(file: string): Promise<void>;
}

export async function openBenchDatabase(folder: string, cleanup: Cleanup): Promise<BenchDatabase> {
  const url = process.env.DATABASE_URL || (await startCounting(folder, cleanup));
  const db = connect(url);
  cleanup.add(() => db.close());
  await createStatements(db);
  return {
    url,
    pid: parentOf(await selectBackendPid(db)) ?? 0,
    counted: () => selectCounted(db),
    async writeTopStatements(file) {
      const lines = (await selectTopStatements(db, 40)).map(({ calls, total_ms, mean_ms, query }) => {
        const text = query.replaceAll(/\s+/g, " ").slice(0, 160);
        return `${Number(total_ms).toFixed(0)} ms, ${calls} calls of ${Number(mean_ms).toFixed(3)} ms: ${text}`;
      });
      writeFileSync(file, `${lines.join("\n")}\n`);
    },
  };
}

async function startCounting(folder: string, cleanup: Cleanup): Promise<string> {
  const dataDir = path.join(folder, "database");
  const start = async () => {
    const starting = startEmbedded({ dataDir, onEvent: () => undefined });
    cleanup.add(async () => (await starting.catch(() => undefined))?.stop());
    return await starting;
  };
  const plain = await start();
  const db = connect(plain.url);
  await preloadStatements(db);
  await db.close();
  await plain.stop();
  return (await start()).url;
}

const connect = (url: string): Database => createDatabase({ url, max: 1, onError: () => undefined });
