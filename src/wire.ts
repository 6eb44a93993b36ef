// Wires the parts of the server by hand, in reading order. Everything heavy is imported from here, so that app.ts can
// open the database while it loads.
import type { FastifyInstance } from "fastify";
import type { Logger } from "pino";
import { buildApi } from "./api/index.ts";
import { createLoopback } from "./api/loopback.ts";
import { createMetrics } from "./api/metrics.ts";
import { toStoredRunRequest } from "./api/run-request.ts";
import type { ModelInfo } from "./api/server-info.ts";
import { createAssistants } from "./assistants/assistants.ts";
import { createDescriptions } from "./assistants/descriptions.ts";
import { type AuthDescription, createAuth } from "./auth/auth.ts";
import type { Config } from "./config.ts";
import { createConversations } from "./conversations/conversations.ts";
import { createCrons } from "./crons/crons.ts";
import { startFiring } from "./crons/fire.ts";
import { Checkpointer } from "./db/checkpointer.ts";
import type { Database } from "./db/database.ts";
import { createPatient } from "./db/patient.ts";
import { truncate } from "./db/truncate.ts";
import { createEnvelopes } from "./envelope/envelopes.ts";
import { createEventLog } from "./events/event-log.ts";
import { createHub } from "./events/hub.ts";
import { openPostgresChannel } from "./events/postgres-channel.ts";
import { openRedisChannel } from "./events/redis-channel.ts";
import { createWakeups } from "./events/wakeups.ts";
import { toWireJson } from "./events/wire-json.ts";
import { createThreadFiles } from "./files/thread-files.ts";
import type { GraphFailure } from "./graphs/failure.ts";
import { createImporter } from "./graphs/importer.ts";
import type { Project } from "./graphs/langgraph-json.ts";
import { loadUserApp } from "./graphs/load-app.ts";
import type { OpenStore } from "./graphs/open-store.ts";
import { loadGraphs } from "./graphs/registry.ts";
import { createSchemas } from "./graphs/schemas.ts";
import { offerLogger } from "./graphs/sdk-logger.ts";
import type { SandboxDescription } from "./kit/sandbox.ts";
import { createTransforms } from "./protocol/transform.ts";
import { executeRun } from "./runs/execute-run.ts";
import type { OfferServices } from "./runs/invocation.ts";
import { createOpenCalls } from "./runs/open-calls.ts";
import { selectQueueSize } from "./runs/queue.sql.ts";
import { createRuns } from "./runs/runs.ts";
import { startSweeping } from "./runs/sweep.ts";
import { createWorker } from "./runs/worker.ts";
import { createStore, type Store } from "./store/store.ts";
import { createThreadStates } from "./threads/state.ts";
import { createThreads } from "./threads/threads.ts";
import { createStateUpdates } from "./threads/update-state.ts";
import { createTargetCheck, toAllowed } from "./webhooks/target.ts";
import { wireCheckpoints } from "./wire/checkpoints.ts";
import { lookAfterReaders } from "./wire/look-after-readers.ts";
import { openSessions } from "./wire/open-sessions.ts";
import { describeSandbox, toModelInfos, toServerInfo } from "./wire/server-info.ts";
import { toTtl } from "./wire/time-to-live.ts";
import { wireWebhooks } from "./wire/webhooks.ts";

export interface Wired {
  readonly server: FastifyInstance;
  readonly models: readonly ModelInfo[];
  readonly sandbox: SandboxDescription;
  readonly graphs: readonly string[];
  /** Graphs of langgraph.json that are not served. */
  readonly failedGraphs: readonly GraphFailure[];
  readonly auth: AuthDescription;
  /** What searches the store by similarity. */
  readonly storeSearch: Store["search"];
  /** Runs that this process runs now. */
  readonly activeRuns: () => number;
  /** Ends runs within the grace time, then streams, then connections. */
  close(): Promise<void>;
}

interface WireOptions {
  readonly config: Config;
  readonly db: Database;
  readonly databaseUrl: string;
  readonly project: Project;
  readonly log: Logger;
  readonly versions: { readonly heddle: string; readonly langgraph: string };
}

/** @throws StartupError when no graph, or not the auth, can be loaded or the configured sandbox does not work here */
export async function wire({ config, db, databaseUrl, project, log, versions }: WireOptions): Promise<Wired> {
  // A run that is running outlives a database that restarts: its writes wait for it as long as its lease could last.
  const patient = createPatient(db, config.leaseSeconds * 1_000);
  const checkpointer = new Checkpointer(db, patient);
  offerLogger(log);
  const importer = createImporter(project.folder);
  const graphs = await loadGraphs({ project, importer, checkpointer, log });
  const auth = await createAuth({ apiKeys: config.apiKeys, project, importer });
  const userApp = await loadUserApp(project, importer);
  const loopback = createLoopback();
  const files = createThreadFiles({ dataDir: config.dataDir });
  const sandbox = await describeSandbox(config, files);

  const wakeups = createWakeups({
    open: config.redisUrl
      ? openRedisChannel({ url: config.redisUrl, log })
      : openPostgresChannel({ url: databaseUrl, db, log }),
    listener: {
      queue: () => worker.wake(),
      cancel: (runId) => worker.check(runId),
      // The id of a run, or of a thread that has a new one or whose conversation has changed.
      run: (id) => {
        hub.wake(id);
        threadHub.wake(id);
        conversationHub.wake(id);
      },
    },
    log,
  });
  const hub = createHub(wakeups.changed);
  const threadHub = createHub(wakeups.changed);
  const conversationHub = createHub(wakeups.changed);
  const events = createEventLog({ db: patient, hub });
  const assistants = createAssistants({ db, graphs, settings: config.graphSettings });
  await assistants.sync();
  const schemas = createSchemas({ sources: project.graphs, log });
  const descriptions = createDescriptions({ graphs, schemas });
  const store = await createStore({
    db,
    settings: project.store,
    file: project.file,
    importer,
    openai: config.openai,
    log,
  });
  // A name of API_KEYS has a store of its own; the rules of a project divide one for all.
  const openStore: OpenStore = ({ identity, fence }) =>
    store.open({ owner: config.apiKeys.length > 0 ? String(identity ?? "") : "", fence });
  const states = createThreadStates({ db, graphs, checkpointer });
  const updates = createStateUpdates({ db, graphs, checkpointer, openStore, toJson: toWireJson });
  const ttl = toTtl(project);
  const threads = createThreads({ db, graphs, checkpointer, openStore, states, toJson: toWireJson, ttl });
  const conversations = createConversations({
    db,
    patient,
    hub: conversationHub,
    messageStateSeconds: config.messageStateRetentionSeconds,
    notificationSeconds: config.eventRetentionSeconds,
  });
  const sessions = await openSessions({ config, db, patient, project, importer, ttl, log });
  const offer: OfferServices = (run) => ({ ...conversations.offer(run), ...sessions.offer(run) });
  const named = wireCheckpoints({ db, graphs, checkpointer, project, redisUrl: config.redisUrl, ttl, log });
  const calls = createOpenCalls({ log, warnSeconds: config.callWarnSeconds });
  const metrics = createMetrics({
    readQueue: () => selectQueueSize(db),
    activeRuns: () => worker.active(),
    calls,
  });
  const openTransform = createTransforms({ log });
  const worker = createWorker({
    db,
    log,
    concurrency: config.workers,
    databaseUrl,
    leaseSeconds: config.leaseSeconds,
    stuckSeconds: config.stuckSeconds,
    maxCrashes: config.maxAttempts,
    execute: (run, signal) => {
      threadHub.publish(run.thread_id, []);
      conversations.announce(run.thread_id);
      const deps = { db, patient, graphs, checkpointer, events, hub, openStore, openTransform, offer, log };
      return metrics
        .observeRun(run.attempt, () => executeRun({ ...deps, ...named, calls }, run, signal))
        .finally(() => conversations.announce(run.thread_id));
    },
    onCrashed: (run) => {
      log.error({ run_id: run.run_id, thread_id: run.thread_id }, "run has crashed its worker too often");
      hub.wake(run.run_id);
      conversations.announce(run.thread_id);
    },
  });
  const removeFiles = async (threadId: string) => {
    await files.removeThread(threadId);
    await named.storages.removeThread(threadId);
  };
  const webhookTargets = toAllowed(config.webhookAllow);
  const checks = [createTargetCheck(webhookTargets), named.checkFrequency];
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
    checks: [...checks, sessions.check],
  });
  const crons = createCrons({ db, assistants, threads, checks, onChange: () => firing.wake() });

  /** A thread that is gone from the database. */
  const forgetThread = async (threadId: string) => {
    await worker.abandonThread(threadId);
    await removeFiles(threadId);
    await threads.removeLeftovers(threadId);
  };

  const draining = new AbortController();
  const stopping = new AbortController();
  const models = toModelInfos(config);
  const server = await buildApi({
    // Requests are not logged below "debug": what they did is in the log of their runs.
    log: log.isLevelEnabled("warn") && !log.isLevelEnabled("debug") ? log.child({}, { level: "warn" }) : log,
    project,
    userApp,
    metrics,
    secured: !auth.description.open,
    corsOrigins: config.corsOrigins,
    limits: {
      bodyBytes: config.maxBodyBytes,
      fileBytes: config.maxUploadBytes,
      importBytes: config.maxImportBytes,
      filesPerRequest: config.limits.uploads_per_request,
    },
    info: toServerInfo(versions, graphs, sandbox, project, store),
    models,
    authenticate: auth.authenticate,
    assistants,
    descriptions,
    threads,
    states,
    updates,
    checkpoints: named.checkpoints,
    runs,
    crons,
    conversations,
    sessions,
    envelopes: createEnvelopes({ db, hub, threadHub, checkpointer, windowMs: config.tokenWindowMs }),
    protocol: { db, hub, threadHub, checkpointer, assistants, threads, states, runs },
    store,
    truncate: config.allowTruncate ? (what) => truncate({ db, forgetThread }, what) : undefined,
    files,
    checkDatabase: async () => void (await db.query("select 1")),
    role: config.role,
    draining: draining.signal,
    stopping: stopping.signal,
  });
  loopback.open(server);
  worker.start();
  const firing = startFiring({ db, runs, toRequest: toStoredRunRequest, log });
  const deliveries = wireWebhooks({
    db,
    log,
    checkpointer,
    states,
    allowed: webhookTargets,
    secret: config.webhookSecret,
    loopback: config.role === "worker" ? undefined : loopback,
    accessOf: auth.accessOf,
  });
  const stopLooking = lookAfterReaders({ db, hub, threadHub, conversationHub, wakeups, worker, log });
  const stopSweeping = startSweeping({
    db,
    runs,
    threads,
    removeFiles,
    eventRetentionSeconds: config.eventRetentionSeconds,
    expireOthers: conversations.expire,
    log,
  });
  const stopKeeping = store.startKeeping();

  return {
    server,
    models,
    sandbox,
    graphs: graphs.ids,
    failedGraphs: graphs.failures,
    auth: auth.description,
    storeSearch: store.search,
    activeRuns: worker.active,
    async close() {
      draining.abort();
      stopSweeping();
      await firing.close();
      const kept = stopKeeping();
      await worker.close(config.graceSeconds * 1000);
      // What was given back to the queue is for the others.
      wakeups.send({ kind: "queue" });
      await deliveries.close(0);
      await graphs.close().catch((error: unknown) => log.error(error, "a graph could not be closed"));
      await importer.close();
      await schemas.close();
      stopping.abort();
      loopback.close();
      await server.close();
      stopLooking();
      await kept;
      await sessions.close();
      await named.storages.close();
      await wakeups.close();
    },
  };
}
