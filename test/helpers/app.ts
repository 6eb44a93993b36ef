// The real server in this process, on a port of its own and a fresh database, for tests that speak HTTP to it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { type App, buildApp } from "../../src/app.ts";
import { loadConfig } from "../../src/config.ts";
import { createTestDatabase, type TestDatabase } from "./database.ts";

export interface TestApp {
  readonly url: string;
  readonly client: Client;
  readonly app: App;
  readonly database: TestDatabase;
  readonly dataDir: string;
  /** Stops the server and removes what it left. */
  close(): Promise<void>;
}

interface Options {
  /** Settings as environment variables. */
  readonly env?: Record<string, string>;
  /** The langgraph.json to serve; the fixtures' by default. */
  readonly graphs?: string;
  /** Shares database and folder with another server, as a second instance. */
  readonly beside?: TestApp;
}

const FIXTURES = path.resolve(import.meta.dirname, "../fixtures/graphs/langgraph.json");

export async function startApp({ env = {}, graphs = FIXTURES, beside }: Options = {}): Promise<TestApp> {
  const database = beside?.database ?? (await createTestDatabase());
  const dataDir = beside?.dataDir ?? mkdtempSync(path.join(tmpdir(), "heddle-app-"));
  const config = loadConfig({
    cwd: dataDir,
    env: {
      PORT: "0",
      DATA_DIR: dataDir,
      DATABASE_URL: database.url,
      SANDBOX: "virtual",
      LOG_LEVEL: "silent",
      GRACE_SECONDS: "0",
      ...env,
    },
  });
  const app = await buildApp(config, graphs);
  const url = await app.server.listen({ host: config.host, port: config.port });
  return {
    url,
    // Retries would hide what a test looks for.
    client: new Client({ apiUrl: url, callerOptions: { maxRetries: 0 } }),
    app,
    database,
    dataDir,
    async close() {
      await app.close();
      if (beside) return;
      await database.drop();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
