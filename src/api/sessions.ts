// Routes of sessions: our own, beside the LangGraph API (document 003 §2.3). What is kept is read, written and deleted as
// the document's JSON, so that it can be taken elsewhere.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Sessions } from "../sessions/sessions.ts";
import { sessionBody, sessionParams, sessionQuery } from "./schemas/sessions.ts";

const config = { errors: "json" } as const;

export function sessionRoutes(server: FastifyInstance, { sessions }: { readonly sessions: Sessions }): void {
  const app = server.withTypeProvider<ZodTypeProvider>();
  /** Sessions are divided by who began them; the rules may forbid them altogether. @throws AppError forbidden */
  const toKey = async (
    { access }: FastifyRequest,
    session_id: string,
    action: "read" | "update" | "delete",
  ) => {
    await access.check("threads", action, { session_id });
    return { owner: access.caller?.identity ?? "", sessionId: session_id };
  };

  app.get("/sessions/:session_id", { config, schema: { params: sessionParams } }, async (request) =>
    sessions.read(await toKey(request, request.params.session_id, "read")),
  );

  app.put(
    "/sessions/:session_id",
    { config, schema: { params: sessionParams, querystring: sessionQuery, body: sessionBody } },
    async (request, reply) => {
      const key = await toKey(request, request.params.session_id, "update");
      await sessions.restore(key, request.body, request.query.message_store);
      return reply.status(204).send();
    },
  );

  app.delete(
    "/sessions/:session_id",
    { config, schema: { params: sessionParams } },
    async (request, reply) => {
      await sessions.remove(await toKey(request, request.params.session_id, "delete"));
      return reply.status(204).send();
    },
  );
}
