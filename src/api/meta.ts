// Routes about the server itself.
import type { FastifyInstance } from "fastify";
import { AppError } from "../errors.ts";
import type { ModelInfo, ServerInfo } from "./server-info.ts";

interface MetaRoutes {
  readonly info: ServerInfo;
  readonly models: readonly ModelInfo[];
  /** Rejects when the database does not answer. */
  readonly checkDatabase: () => Promise<void>;
  readonly draining: AbortSignal;
}

export function metaRoutes(
  app: FastifyInstance,
  { info, models, checkDatabase, draining }: MetaRoutes,
): void {
  app.get("/ok", async () => {
    if (draining.aborted) throw new AppError("shutting_down", "The server is stopping.");
    await checkDatabase().catch((cause: unknown) => {
      // Whatever the reason: whoever asks is to send nothing here for now.
      throw new AppError("database_unavailable", "The database does not answer.", { cause });
    });
    return { ok: true };
  });

  app.get("/info", async () => info);

  app.get("/models", { config: { errors: "json" } }, async () => ({ models }));
}
