// Opens everything in order, and closes it again: database, then the server that wire.ts puts together. No process
// here: main.ts has that.
import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import path from "node:path";
import { type Logger, pino } from "pino";
import { applyProjectEnv, type Config } from "./config.ts";
import { createDatabase, type Database } from "./db/database.ts";
import { type EmbeddedPostgres, startEmbedded } from "./db/embedded.ts";
import { migrate } from "./db/migrate.ts";
import { StartupError } from "./errors.ts";
import { readLanggraphJson } from "./graphs/langgraph-json.ts";
import type { Wired } from "./wire.ts";

export interface App extends Wired {
  readonly log: Logger;
  /** Where the data is kept, in words, without the password. */
  readonly database: string;
  /** Its address, with the password. */
  readonly databaseUrl: string;
  /** SQL statements sent so far, for the benchmark. */
  readonly statements: () => number;
}

/** Longest wait for the first connection, in looks of 50 ms: a start that fails is to fail soon. */
const FIRST_CONNECTION_LOOKS = 20;

const packageJson = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/**
 * @param langgraphFile the langgraph.json to serve, absolute
 * @throws StartupError with the cause and the next command to type
 */
export async function buildApp(settings: Config, langgraphFile: string): Promise<App> {
  const log: Logger = pino({ level: settings.logLevel });
  const project = readLanggraphJson(langgraphFile);
  const config = applyProjectEnv(settings, project, (file) => {
    // The one of the server's own folder is read without being named, and nobody needs one to begin.
    if (file === path.resolve(".env")) return;
    log.warn({ file }, "the env file that langgraph.json names is not there; going on without it");
  });
  checkDataDir(config.dataDir);
  // LangGraph takes most of a second to load: time enough for PostgreSQL.
  const loading = import("./wire.ts");

  const opened: (() => Promise<void>)[] = [];
  const close = async () => {
    for (const closeOne of opened.splice(0).reverse()) await closeOne();
  };
  try {
    const embedded = config.databaseUrl === undefined ? await openEmbedded(config.dataDir, log) : undefined;
    if (embedded) opened.push(() => embedded.stop());
    const url = config.databaseUrl ?? embedded?.url ?? "";
    if (!embedded) await tryConnection(url);
    const db = createDatabase({
      url,
      max: config.workers + 10,
      onError: (error) => log.warn(error, "a database connection broke"),
    });
    opened.push(() => db.close());
    const applied = await migrate(db);
    if (applied.length > 0) log.debug({ migrations: applied }, "schema brought up to date");

    const { wire } = await loading;
    const wired = await wire({
      config,
      db,
      databaseUrl: url,
      project,
      log,
      versions: { heddle: packageJson.version, langgraph: packageJson.dependencies["@langchain/langgraph"] },
    });
    opened.push(() => wired.close());
    return {
      ...wired,
      log,
      database: describeDatabase(url, embedded),
      databaseUrl: url,
      statements: db.statements,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function checkDataDir(dataDir: string): void {
  try {
    mkdirSync(dataDir, { recursive: true });
    accessSync(dataDir, constants.W_OK | constants.X_OK);
  } catch (error) {
    throw new StartupError(
      `The data directory cannot be written: ${error instanceof Error ? error.message : error}.`,
      {
        file: dataDir,
        next: `Check its rights (ls -ld ${dataDir}), or set DATA_DIR to a folder you own.`,
        cause: error,
      },
    );
  }
}

const openEmbedded = (dataDir: string, log: Logger) =>
  startEmbedded({
    dataDir,
    onEvent: (event, error) => log.error({ err: error }, `the embedded PostgreSQL ${event}`),
  });

/**
 * @throws StartupError when no connection can be made within a second. It is counted in turns of the event loop: while
 * LangGraph loads, or many servers start at once, nothing is heard for longer than that.
 */
async function tryConnection(url: string): Promise<void> {
  const probe: Database = createDatabase({
    url,
    max: 1,
    connectionTimeoutMs: 30_000,
    onError: () => undefined,
  });
  const { promise: timeUp, reject } = Promise.withResolvers<never>();
  let looks = 0;
  const look = setInterval(() => {
    if (++looks === FIRST_CONNECTION_LOOKS) reject(new Error("no answer within a second"));
  }, 50);
  try {
    await Promise.race([probe.query("select 1"), timeUp]);
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new StartupError(
      `PostgreSQL does not answer at ${withoutPassword(url)}: ${cause instanceof Error ? cause.message : cause}.`,
      {
        next: "Check DATABASE_URL and that the server runs, or unset it to use the embedded PostgreSQL.",
        cause: error,
      },
    );
  } finally {
    clearInterval(look);
    // Not awaited: it would wait for a connection that is still being made.
    void probe.close();
  }
}

function describeDatabase(url: string, embedded: EmbeddedPostgres | undefined): string {
  if (!embedded) return withoutPassword(url);
  return embedded.adopted ? "embedded PostgreSQL (was still running, adopted)" : "embedded PostgreSQL";
}

function withoutPassword(url: string): string {
  const shown = new URL(url);
  shown.password = "";
  return shown.href;
}
