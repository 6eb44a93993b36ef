// The HTTP side: every route, in the order of the documentation. Shapes in, shapes out; what happens is in the domain.
import fastifyCors from "@fastify/cors";
import Fastify, { type FastifyBaseLogger, type FastifyInstance, LogController } from "fastify";
import { validatorCompiler } from "fastify-type-provider-zod";
import type { Assistants } from "../assistants/assistants.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { ThreadFiles } from "../kit/thread-files.ts";
import type { Runs } from "../runs/runs.ts";
import type { ThreadStates } from "../threads/state.ts";
import type { Threads } from "../threads/threads.ts";
import { artifactRoutes } from "./artifacts.ts";
import { assistantRoutes } from "./assistants.ts";
import { handleErrors } from "./error-handler.ts";
import { readJsonBodies } from "./json-body.ts";
import { metaRoutes } from "./meta.ts";
import { runRoutes } from "./runs.ts";
import type { ModelInfo, ServerInfo } from "./server-info.ts";
import { threadRoutes } from "./threads.ts";
import { uploadRoutes } from "./uploads.ts";

interface ApiOptions {
  readonly log: FastifyBaseLogger;
  readonly corsOrigins: readonly string[];
  readonly limits: {
    readonly bodyBytes: number;
    readonly fileBytes: number;
    readonly filesPerRequest: number;
  };
  readonly info: ServerInfo;
  readonly models: readonly ModelInfo[];
  readonly assistants: Assistants;
  readonly threads: Threads;
  readonly states: ThreadStates;
  readonly runs: Runs;
  readonly files: ThreadFiles;
  /** A `worker` answers only questions about itself. */
  readonly role: "all" | "api" | "worker";
  readonly checkDatabase: () => Promise<void>;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

const EXPOSED_HEADERS = ["content-location", "location", "x-pagination-total", "x-pagination-next"];

export async function buildApi(options: ApiOptions): Promise<FastifyInstance> {
  const { limits } = options;
  const app = Fastify({
    loggerInstance: options.log,
    logController: new LogController({ disableRequestLogging: true }),
    bodyLimit: limits.bodyBytes,
    // Receiving a request may take this long; a stream that is being sent is not concerned.
    requestTimeout: 300_000,
    routerOptions: { maxParamLength: 8_192, ignoreTrailingSlash: true },
    forceCloseConnections: true,
  });
  app.setValidatorCompiler(validatorCompiler);
  app.setReplySerializer((payload) => toWireJson(payload));
  handleErrors(app);
  readJsonBodies(app);
  await app.register(fastifyCors, {
    origin: options.corsOrigins.includes("*") ? "*" : [...options.corsOrigins],
    methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"],
    exposedHeaders: EXPOSED_HEADERS,
  });

  metaRoutes(app, options);
  if (options.role === "worker") return app;
  assistantRoutes(app, options);
  threadRoutes(app, options);
  runRoutes(app, options);
  artifactRoutes(app, options);
  // In a scope of its own: only here are multipart bodies read.
  await app.register(async (scope) =>
    uploadRoutes(scope, { ...options, maxFileBytes: limits.fileBytes, maxFiles: limits.filesPerRequest }),
  );
  return app;
}
