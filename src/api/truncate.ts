// POST /internal/truncate: test suites of the LangGraph server start from nothing with it. There only with ALLOW_TRUNCATE.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { bodyOrNone, optional } from "./schemas/common.ts";

const kind = optional(z.boolean());
const truncateBody = bodyOrNone({
  runs: kind,
  threads: kind,
  assistants: kind,
  checkpointer: kind,
  store: kind,
});

export type Truncate = (what: z.output<typeof truncateBody>) => Promise<void>;

export function truncateRoutes(server: FastifyInstance, truncate: Truncate): void {
  server
    .withTypeProvider<ZodTypeProvider>()
    .post("/internal/truncate", { schema: { body: truncateBody } }, async ({ body }) => {
      await truncate(body);
      return { ok: true };
    });
}
