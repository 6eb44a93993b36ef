// Wires the parts of the server by hand, in reading order. Everything heavy is imported from here, so that app.ts can
// open the database while it loads.
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { buildApi } from "./api/index.ts";
import type { ModelInfo, ServerInfo } from "./api/server-info.ts";
import { createAssistants } from "./assistants/assistants.ts";
import type { Config } from "./config.ts";
import { Checkpointer } from "./db/checkpointer.ts";
import type { Database } from "./db/database.ts";
import { createEventLog } from "./events/event-log.ts";
import { createHub } from "./events/hub.ts";
import { createThreadFiles } from "./files/thread-files.ts";
import type { GraphSource } from "./graphs/langgraph-json.ts";
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

export interface Wired {
  readonly server: FastifyInstance;
  readonly models: readonly ModelInfo[];
  readonly sandbox: SandboxDescription;
  readonly graphs: readonly string[];
  /** Runs that this process runs now. */
  readonly activeRuns: () => number;
  /** Ends runs within the grace time, then streams, then connections. */
  close(): Promise<void>;
}

interface WireOptions {
  readonly config: Config;
  readonly db: Database;
  readonly sources: readonly GraphSource[];
  readonly log: Logger;
  readonly versions: { readonly heddle: string; readonly langgraph: string };
}

/** @throws StartupError when a graph cannot be loaded or the configured sandbox does not work here */
export async function wire({ config, db, sources, log, versions }: WireOptions): Promise<Wired> {
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

  const draining = new AbortController();
  const stopping = new AbortController();
  const models = toModelInfos(config);
  const server = await buildApi({
    // Requests are not logged below "debug": what they did is in the log of their runs.
    log: log.isLevelEnabled("warn") && !log.isLevelEnabled("debug") ? log.child({}, { level: "warn" }) : log,
    corsOrigins: config.corsOrigins,
    limits: {
      bodyBytes: config.maxBodyBytes,
      fileBytes: config.maxUploadBytes,
      filesPerRequest: config.limits.uploads_per_request,
    },
    info: toServerInfo(versions, graphs.ids, sandbox),
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
  worker.start();
  const stopSweeping = startSweeping({ db, runs, log });

  return {
    server,
    models,
    sandbox,
    graphs: graphs.ids,
    activeRuns: worker.active,
    async close() {
      draining.abort();
      stopSweeping();
      await worker.close(config.graceSeconds * 1000);
      stopping.abort();
      await server.close();
    },
  };
}

async function describeSandbox(config: Config, files: ThreadFiles): Promise<SandboxDescription> {
  const sandboxes = createSandboxes({ provider: config.sandbox, dataDir: config.dataDir, files });
  const description = await sandboxes.describe();
  await sandboxes.close();
  return description;
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

function toServerInfo(
  versions: { heddle: string; langgraph: string },
  graphs: readonly string[],
  sandbox: SandboxDescription,
): ServerInfo {
  return {
    version: versions.heddle,
    langgraph_js_version: versions.langgraph,
    context: "js",
    flags: { assistants: true, crons: false, langsmith: false },
    heddle: { version: versions.heddle, graphs, sandbox },
  };
}
