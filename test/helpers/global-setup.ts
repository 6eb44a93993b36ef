// One PostgreSQL for the whole test run: TEST_DATABASE_URL if set, else the embedded one. Test files get a fresh
// database each, copied from a template that is migrated once.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import type { TestProject } from "vitest/node";
import { createDatabase } from "../../src/db/database.ts";
import { startEmbedded } from "../../src/db/embedded.ts";
import { migrate } from "../../src/db/migrate.ts";

declare module "vitest" {
  interface ProvidedContext {
    databaseUrl: string;
    templateName: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const ignore = () => undefined;
  const external = process.env.TEST_DATABASE_URL || undefined;
  const dataDir = mkdtempSync(path.join(tmpdir(), "heddle-test-"));
  const embedded = external ? undefined : await startEmbedded({ dataDir, onEvent: ignore });
  const databaseUrl = external ?? embedded?.url ?? "";
  const templateName = `heddle_template_${process.pid}`;
  const admin = createDatabase({ url: databaseUrl, max: 1, onError: ignore });
  await admin.query(`create database ${templateName}`);
  const template = createDatabase({ url: withDatabase(databaseUrl, templateName), max: 1, onError: ignore });
  await migrate(template);
  await template.close();
  project.provide("databaseUrl", databaseUrl);
  project.provide("templateName", templateName);
  return async () => {
    await admin.query(`drop database if exists ${templateName} with (force)`);
    await admin.close();
    await embedded?.stop();
    rmSync(dataDir, { recursive: true, force: true });
  };
}

/** The same server, another database. */
export function withDatabase(url: string, name: string): string {
  const changed = new URL(url);
  changed.pathname = `/${name}`;
  return changed.href;
}
