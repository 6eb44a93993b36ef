// Routes of assistants.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Assistants } from "../assistants/assistants.ts";
import { pageHeaders } from "./pagination.ts";
import { assistantParams, searchAssistantsBody } from "./schemas/assistants.ts";

export function assistantRoutes(server: FastifyInstance, { assistants }: { assistants: Assistants }): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  app.get("/assistants/:assistant_id", { schema: { params: assistantParams } }, async ({ params }) =>
    assistants.get(params.assistant_id),
  );

  app.post("/assistants/search", { schema: { body: searchAssistantsBody } }, async ({ body }, reply) => {
    const { assistants: rows, total } = await assistants.search({
      graphId: body.graph_id,
      name: body.name,
      metadata: body.metadata,
      limit: body.limit,
      offset: body.offset,
      sortBy: body.sort_by ?? "created_at",
      sortOrder: body.sort_order ?? "desc",
    });
    reply.headers(pageHeaders(body, rows.length, total));
    return rows;
  });
}
