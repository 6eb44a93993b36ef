// The HTTP side: every route, in the order of the documentation. Shapes in, shapes out; what happens is in the domain.
import fastifyWebsocket from "@fastify/websocket";
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { validatorCompiler } from "fastify-type-provider-zod";
import type { Assistants } from "../assistants/assistants.ts";
import type { Descriptions } from "../assistants/descriptions.ts";
import type { Authenticate } from "../auth/access.ts";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import type { Conversations } from "../conversations/conversations.ts";
import type { Crons } from "../crons/crons.ts";
import type { Envelopes } from "../envelope/envelopes.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { Project } from "../graphs/langgraph-json.ts";
import type { UserApp } from "../graphs/load-app.ts";
import type { ThreadFiles } from "../kit/thread-files.ts";
import type { ProtocolDeps } from "../protocol/deps.ts";
import type { Runs } from "../runs/runs.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { Transfers } from "../sessions/transfers.ts";
import type { Store } from "../store/store.ts";
import type { ThreadStates } from "../threads/state.ts";
import type { Threads } from "../threads/threads.ts";
import type { StateUpdates } from "../threads/update-state.ts";
import { giveAccess } from "./access.ts";
import { artifactRoutes } from "./artifacts.ts";
import { assistantRoutes } from "./assistants.ts";
import { checkpointRoutes } from "./checkpoints.ts";
import { readConfigurableHeaders } from "./configurable-headers.ts";
import { conversationRoutes } from "./conversations.ts";
import { allowOrigins } from "./cors.ts";
import { cronRoutes } from "./crons.ts";
import { handleErrors, handleUnrouted } from "./error-handler.ts";
import { readJsonBodies } from "./json-body.ts";
import { metaRoutes } from "./meta.ts";
import { countRequests, type Metrics, metricsRoutes } from "./metrics.ts";
import { notificationRoutes } from "./notifications.ts";
import { describeRoutes } from "./openapi.ts";
import { protocolRoutes } from "./protocol.ts";
import { runEventsRoutes } from "./run-events.ts";
import { runRoutes } from "./runs.ts";
import type { ModelInfo, ServerInfo } from "./server-info.ts";
import { sessionRoutes } from "./sessions.ts";
import { storeRoutes } from "./store.ts";
import { storedRunRoutes } from "./stored-runs.ts";
import { threadStateRoutes } from "./thread-state.ts";
import { threadStreamRoutes } from "./thread-stream.ts";
import { transferRoutes } from "./thread-transfer.ts";
import { threadRoutes } from "./threads.ts";
import { type Truncate, truncateRoutes } from "./truncate.ts";
import { uiRoutes } from "./ui.ts";
import { refuseOtherUpgrades } from "./upgrades.ts";
import { uploadRoutes } from "./uploads.ts";
import { runUserApp } from "./user-app.ts";

interface ApiOptions {
  readonly log: FastifyBaseLogger;
  readonly project: Project;
  readonly userApp: UserApp | undefined;
  readonly metrics: Metrics;
  /** Whether callers have to say who they are. */
  readonly secured: boolean;
  readonly corsOrigins: readonly string[];
  readonly limits: {
    readonly bodyBytes: number;
    readonly fileBytes: number;
    readonly importBytes: number;
    readonly filesPerRequest: number;
  };
  readonly info: ServerInfo;
  readonly models: readonly ModelInfo[];
  readonly authenticate: Authenticate;
  readonly assistants: Assistants;
  readonly descriptions: Descriptions;
  readonly threads: Threads;
  readonly states: ThreadStates;
  readonly updates: StateUpdates;
  readonly checkpoints: Checkpoints;
  readonly runs: Runs;
  readonly crons: Crons;
  readonly conversations: Conversations;
  readonly sessions: Sessions & { readonly transfers: Transfers };
  readonly protocol: ProtocolDeps;
  readonly envelopes: Envelopes;
  readonly store: Store;
  readonly files: ThreadFiles;
  /** A `worker` answers only questions about itself. */
  readonly role: "all" | "api" | "worker";
  /** Deletes everything; undefined where that is not allowed. */
  readonly truncate: Truncate | undefined;
  readonly checkDatabase: () => Promise<void>;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

export async function buildApi(options: ApiOptions): Promise<FastifyInstance> {
  const { limits, project } = options;
  const { http } = project;
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes,
    // Receiving a request may take this long; a stream that is being sent is not concerned.
    requestTimeout: 300_000,
    // Clients that would like HTTP/2 say so in this way, and get what they ask for without it.
    http: { shouldUpgradeCallback: ({ headers }) => headers.upgrade?.toLowerCase() === "websocket" },
    routerOptions: { maxParamLength: 8_192, ignoreTrailingSlash: true },
    forceCloseConnections: true,
    frameworkErrors: handleUnrouted,
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setReplySerializer((payload) => toWireJson(payload));
  handleErrors(app);
  // First, so that it closes the connections that those after it refuse.
  await app.register(fastifyWebsocket, { options: { maxPayload: limits.bodyBytes } });
  countRequests(app, options.metrics);
  await allowOrigins(app, options.corsOrigins, project);
  giveAccess(app, options.authenticate);
  if (options.userApp) runUserApp(app, options.userApp);
  refuseOtherUpgrades(app);
  readJsonBodies(app);
  readConfigurableHeaders(app, http.configurable_headers);

  if (!http.disable_meta) {
    await describeRoutes(app, { version: options.info.version, secured: options.secured });
    metaRoutes(app, options);
    metricsRoutes(app, options.metrics);
  }
  if (options.role === "worker") return app;
  if (options.truncate) truncateRoutes(app, options.truncate);
  if (!http.disable_ui && Object.keys(project.ui).length > 0) uiRoutes(app, options);
  if (!http.disable_assistants) assistantRoutes(app, options);
  if (!http.disable_threads) {
    threadRoutes(app, options);
    threadStateRoutes(app, options);
    checkpointRoutes(app, options);
    conversationRoutes(app, options);
    notificationRoutes(app, options);
    sessionRoutes(app, options);
  }
  if (!http.disable_runs) {
    runRoutes(app, options);
    storedRunRoutes(app, options);
    cronRoutes(app, options);
    if (!http.disable_threads) {
      threadStreamRoutes(app, options);
      runEventsRoutes(app, options);
      protocolRoutes(app, options);
    }
  }
  if (!http.disable_store) storeRoutes(app, options);
  if (http.disable_threads) return app;
  artifactRoutes(app, options);
  // In scopes of their own: only here are bodies read that are files.
  await app.register((scope) =>
    transferRoutes(scope, { transfers: options.sessions.transfers, maxBytes: limits.importBytes }),
  );
  await app.register(async (scope) =>
    uploadRoutes(scope, { ...options, maxFileBytes: limits.fileBytes, maxFiles: limits.filesPerRequest }),
  );
  return app;
}
