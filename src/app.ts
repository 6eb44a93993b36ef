// Opens, wires and closes everything, in order. No process here: main.ts has that.
import { accessSync, constants, mkdirSync, readFileSync } from "node:fs";
import type { FastifyInstance } from "fastify";
import { type Logger, pino } from "pino";
import { buildApi } from "./api/index.ts";
import type { ModelInfo, ServerInfo } from "./api/server-info.ts";
import { createAssistants } from "./assistants/assistants.ts";
import type { Config } from "./config.ts";
import { Checkpointer } from "./db/checkpointer.ts";
import { createDatabase, type Database } from "./db/database.ts";
import { type EmbeddedPostgres, startEmbedded } from "./db/embedded.ts";
import { migrate } from "./db/migrate.ts";
import { StartupError } from "./errors.ts";
import { createEventLog } from "./events/event-log.ts";
import { createHub } from "./events/hub.ts";
import { createThreadFiles } from "./files/thread-files.ts";
import { readLanggraphJson } from "./graphs/langgraph-json.ts";
import { loadGraphs } from "./graphs/registry.ts";
import type { SandboxDescription } from "./kit/sandbox.ts";
import type { ThreadFiles } from "./kit/thread-files.ts";
import { executeRun } from "./runs/execute-run.ts";
import { createRuns } from "./runs/runs.ts";
import { startSweeping } from "./runs/sweep.ts";
import { createWorker } from "./runs/worker.ts";
import { createSandboxes } from "./sandbox/sandboxes.ts";
import { createThreadStates } from "./threads/state.ts";
import { createThreads } from "./threads/threads.ts";

export interface App {
  readonly server: FastifyInstance;
  /** For the lines that are printed at the start. */
  readonly summary: {
    readonly database: string;
    readonly models: readonly ModelInfo[];
    readonly sandbox: SandboxDescription;
    readonly graphs: readonly string[];
  };
  /** Runs that this process runs now. */
  readonly activeRuns: () => number;
  /** SQL statements sent so far, for the benchmark. */
  readonly statements: () => number;
  /** Ends runs within the grace time, then streams, then connections. */
  close(): Promise<void>;
}

const packageJson = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

/**
 * @param langgraphFile the langgraph.json to serve, absolute
 * @throws StartupError with the cause and the next command to type
 */
export async function buildApp(config: Config, langgraphFile: string): Promise<App> {
  const log: Logger = pino({ level: config.logLevel });
  const sources = readLanggraphJson(langgraphFile);
  checkDataDir(config.dataDir);

  const opened: (() => Promise<unknown> | unknown)[] = [];
  const closeAll = async () => {
    for (const close of opened.reverse()) await close();
  };
  try {
    const embedded = config.databaseUrl === undefined ? await openEmbedded(config.dataDir, log) : undefined;
    if (embedded) opened.push(() => embedded.stop());
    const url = config.databaseUrl ?? embedded?.url ?? "";
    const db = createDatabase({
      url,
      max: config.workers + 10,
      onError: (error) => log.warn(error, "a database connection broke"),
    });
    opened.push(() => db.close());
    await connect(db, url);
    const applied = await migrate(db);
    if (applied.length > 0) log.info({ migrations: applied }, "schema brought up to date");

    const checkpointer = new Checkpointer(db);
    const graphs = await loadGraphs(sources, checkpointer);
    const files = createThreadFiles({ dataDir: config.dataDir });
    const sandbox = await describeSandbox(config, files);

    const hub = createHub();
    const events = createEventLog({ db, hub });
    const assistants = createAssistants({ db, graphs });
    await assistants.sync();
    const threads = createThreads({ db });
    const states = createThreadStates({ db, graphs });
    const worker = createWorker({
      db,
      log,
      concurrency: config.workers,
      leaseSeconds: config.leaseSeconds,
      execute: (run, signal) => executeRun({ db, graphs, checkpointer, events, hub, log }, run, signal),
      onCrashed: (run) => {
        log.error({ run_id: run.run_id, thread_id: run.thread_id }, "run has crashed its worker too often");
        hub.wake(run.run_id);
      },
    });
    const removeFiles = (threadId: string) => files.removeThread(threadId);
    const runs = createRuns({ db, hub, assistants, threads, states, worker, removeFiles });
    opened.push(startSweeping({ db, runs, log }));

    const draining = new AbortController();
    const stopping = new AbortController();
    const models = toModelInfos(config);
    const server = await buildApi({
      // Requests are not logged below "debug": what they did is in the log of their runs.
      log:
        log.isLevelEnabled("warn") && !log.isLevelEnabled("debug") ? log.child({}, { level: "warn" }) : log,
      corsOrigins: config.corsOrigins,
      limits: {
        bodyBytes: config.maxBodyBytes,
        fileBytes: config.maxUploadBytes,
        filesPerRequest: config.limits.uploads_per_request,
      },
      info: toServerInfo(graphs.ids, sandbox),
      models,
      assistants,
      threads,
      states,
      runs,
      files,
      checkDatabase: async () => void (await db.query("select 1")),
      draining: draining.signal,
      stopping: stopping.signal,
    });
    opened.push(async () => {
      draining.abort();
      await worker.close(config.graceSeconds * 1000);
      stopping.abort();
      await server.close();
    });
    worker.start();

    return {
      server,
      summary: { database: describeDatabase(url, embedded), models, sandbox, graphs: graphs.ids },
      activeRuns: worker.active,
      statements: db.statements,
      close: closeAll,
    };
  } catch (error) {
    await closeAll();
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

async function connect(db: Database, url: string): Promise<void> {
  try {
    await db.query("select 1");
  } catch (error) {
    const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
    throw new StartupError(
      `PostgreSQL does not answer at ${withoutPassword(url)}: ${cause instanceof Error ? cause.message : cause}.`,
      {
        next: "Check DATABASE_URL and that the server runs, or unset it to use the embedded PostgreSQL.",
        cause: error,
      },
    );
  }
}

async function describeSandbox(config: Config, files: ThreadFiles): Promise<SandboxDescription> {
  const sandboxes = createSandboxes({ provider: config.sandbox, dataDir: config.dataDir, files });
  const description = await sandboxes.describe();
  await sandboxes.close();
  return description;
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

function toModelInfos(config: Config): ModelInfo[] {
  if (config.models.length === 0)
    return [{ name: "demo", model: "demo", supports_vision: false, is_default: true }];
  return config.models.map((model, index) => ({
    name: model.name,
    model: model.model ?? model.name,
    supports_vision: model.vision,
    is_default: index === 0,
  }));
}

function toServerInfo(graphs: readonly string[], sandbox: SandboxDescription): ServerInfo {
  return {
    version: packageJson.version,
    langgraph_js_version: packageJson.dependencies["@langchain/langgraph"],
    context: "js",
    flags: { assistants: true, crons: false, langsmith: false },
    heddle: { version: packageJson.version, graphs, sandbox },
  };
}
