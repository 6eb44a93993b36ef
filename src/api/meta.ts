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
  app.get(
    "/ok",
    { config: { open: true }, schema: { summary: "Whether the server takes requests" } },
    async () => {
      if (draining.aborted) throw new AppError("shutting_down", "The server is stopping.");
      await checkDatabase().catch((cause: unknown) => {
        // Whatever the reason: whoever asks is to send nothing here for now.
        throw new AppError("database_unavailable", "The database does not answer.", { cause });
      });
      return { ok: true };
    },
  );

  app.get("/info", { config: { open: true }, schema: { summary: "What the server is" } }, async () => info);

  app.get(
    "/models",
    { config: { errors: "json" }, schema: { summary: "The models to choose from" } },
    async () => ({ models }),
  );
}
