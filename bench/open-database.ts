// A folder and a PostgreSQL for one benchmark: that of DATABASE_URL, else an embedded one in the folder.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { startEmbedded } from "../src/db/embedded.ts";
import type { Cleanup } from "./peer/cleanup.ts";

export async function openDatabase(name: string, cleanup: Cleanup) {
  const folder = mkdtempSync(path.join(tmpdir(), `heddle-${name}-`));
  cleanup.add(() => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }));
  if (process.env.DATABASE_URL) return { folder, databaseUrl: process.env.DATABASE_URL };
  const embedded = await startEmbedded({ dataDir: path.join(folder, "database"), onEvent: () => undefined });
  cleanup.add(() => embedded.stop());
  return { folder, databaseUrl: embedded.url };
}
