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
import { createPatient } from "./db/patient.ts";
import { createEventLog } from "./events/event-log.ts";
import { createHub } from "./events/hub.ts";
import { startPolling } from "./events/poll-log.ts";
import { openPostgresChannel } from "./events/postgres-channel.ts";
import { openRedisChannel } from "./events/redis-channel.ts";
import { createWakeups } from "./events/wakeups.ts";
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
  readonly databaseUrl: string;
  readonly sources: readonly GraphSource[];
  readonly log: Logger;
  readonly versions: { readonly heddle: string; readonly langgraph: string };
}

/** @throws StartupError when a graph cannot be loaded or the configured sandbox does not work here */
export async function wire({ config, db, databaseUrl, sources, log, versions }: WireOptions): Promise<Wired> {
  // A run that is running outlives a database that restarts: its writes wait for it as long as its lease could last.
  const patient = createPatient(db, config.leaseSeconds * 1_000);
  const checkpointer = new Checkpointer(db, patient);
  const graphs = await loadGraphs(sources, checkpointer);
  const files = createThreadFiles({ dataDir: config.dataDir });
  const sandbox = await describeSandbox(config, files);

  const wakeups = createWakeups({
    open: config.redisUrl
      ? openRedisChannel({ url: config.redisUrl, log })
      : openPostgresChannel({ url: databaseUrl, db, log }),
    listener: {
      queue: () => worker.wake(),
      cancel: (runId) => worker.check(runId),
      run: (runId) => hub.wake(runId),
    },
    log,
  });
  const hub = createHub(wakeups.changed);
  const events = createEventLog({ db: patient, hub });
  const assistants = createAssistants({ db, graphs });
  await assistants.sync();
  const threads = createThreads({ db });
  const states = createThreadStates({ db, graphs });
  const worker = createWorker({
    db,
    log,
    concurrency: config.workers,
    databaseUrl,
    leaseSeconds: config.leaseSeconds,
    stuckSeconds: config.stuckSeconds,
    maxCrashes: config.maxAttempts,
    execute: (run, signal) =>
      executeRun({ db, patient, graphs, checkpointer, events, hub, log }, run, signal),
    onCrashed: (run) => {
      log.error({ run_id: run.run_id, thread_id: run.thread_id }, "run has crashed its worker too often");
      hub.wake(run.run_id);
    },
  });
  const removeFiles = (threadId: string) => files.removeThread(threadId);
  const runs = createRuns({
    db,
    hub,
    wakeups,
    checkpointer,
    assistants,
    threads,
    states,
    worker,
    removeFiles,
  });

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
    role: config.role,
    draining: draining.signal,
    stopping: stopping.signal,
  });
  worker.start();
  const stopPolling = startPolling({
    db,
    hub,
    log,
    announce: (runId) => {
      if (!worker.has(runId)) wakeups.send({ kind: "follow", runId });
    },
  });
  const stopSweeping = startSweeping({
    db,
    runs,
    eventRetentionSeconds: config.eventRetentionSeconds,
    log,
  });

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
      // What was given back to the queue is for the others.
      wakeups.send({ kind: "queue" });
      await graphs.close().catch((error: unknown) => log.error(error, "a graph could not be closed"));
      stopping.abort();
      await server.close();
      stopPolling();
      await wakeups.close();
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
