// Routes of assistants.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Assistants } from "../assistants/assistants.ts";
import type { Descriptions } from "../assistants/descriptions.ts";
import type { Access } from "../auth/access.ts";
import { isAppError } from "../errors.ts";
import type { Runs } from "../runs/runs.ts";
import { pageHeaders } from "./pagination.ts";
import {
  assistantParams,
  countAssistantsBody,
  createAssistantBody,
  deleteAssistantQuery,
  graphQuery,
  latestBody,
  patchAssistantBody,
  searchAssistantsBody,
  subgraphParams,
  subgraphsQuery,
  versionsBody,
} from "./schemas/assistants.ts";

interface AssistantRoutes {
  readonly assistants: Assistants;
  readonly descriptions: Descriptions;
  readonly runs: Runs;
}

export function assistantRoutes(
  server: FastifyInstance,
  { assistants, descriptions, runs }: AssistantRoutes,
): void {
  const app = server.withTypeProvider<ZodTypeProvider>();
  /** The assistant, if the caller may see it. */
  const read = async (access: Access, assistantOrGraphId: string) => {
    const assistant_id = assistants.idOf(assistantOrGraphId);
    const scope = await access.check("assistants", "read", { assistant_id });
    return assistants.read(assistant_id, scope);
  };

  app.post("/assistants", { schema: { body: createAssistantBody } }, async ({ body, access }) => {
    const value = {
      assistant_id: body.assistant_id,
      graph_id: body.graph_id,
      name: body.name ?? "Untitled",
      description: body.description ?? null,
      config: body.config ?? {},
      context: body.context ?? {},
      metadata: body.metadata ?? {},
      if_exists: body.if_exists ?? "raise",
    };
    const scope = await access.check("assistants", "create", value);
    const { if_exists, ...assistant } = value;
    return assistants.create(assistant, if_exists, scope);
  });

  app.post(
    "/assistants/search",
    { schema: { body: searchAssistantsBody } },
    async ({ body, access }, reply) => {
      const { graph_id, name, metadata, limit, offset, select } = body;
      const value = { graph_id, name, metadata, limit, offset };
      const scope = await access.check("assistants", "search", value);
      const { assistants: rows, total } = await assistants.search(
        {
          graphId: value.graph_id,
          name: value.name,
          metadata: value.metadata,
          limit: value.limit,
          offset: value.offset,
          sortBy: body.sort_by ?? "created_at",
          sortOrder: body.sort_order ?? "desc",
        },
        scope,
      );
      reply.headers(pageHeaders(value, rows.length, total));
      if (select === undefined) return rows;
      return rows.map((row) => Object.fromEntries(select.map((field) => [field, row[field]])));
    },
  );

  app.post("/assistants/count", { schema: { body: countAssistantsBody } }, async ({ body, access }) => {
    const value = { graph_id: body.graph_id, name: body.name, metadata: body.metadata };
    const scope = await access.check("assistants", "search", value);
    return assistants.count({ graphId: value.graph_id, name: value.name, metadata: value.metadata }, scope);
  });

  app.get("/assistants/:assistant_id", { schema: { params: assistantParams } }, async ({ params, access }) =>
    read(access, params.assistant_id),
  );

  app.get(
    "/assistants/:assistant_id/graph",
    { schema: { params: assistantParams, querystring: graphQuery } },
    async ({ params, query, access }) =>
      descriptions.drawing(await read(access, params.assistant_id), query.xray),
  );

  app.get(
    "/assistants/:assistant_id/schemas",
    { schema: { params: assistantParams } },
    async ({ params, access }) => descriptions.schemas(await read(access, params.assistant_id)),
  );

  app.get(
    "/assistants/:assistant_id/subgraphs",
    { schema: { params: assistantParams, querystring: subgraphsQuery } },
    async ({ params, query, access }) =>
      descriptions.subgraphs(await read(access, params.assistant_id), query),
  );

  app.get(
    "/assistants/:assistant_id/subgraphs/:namespace",
    { schema: { params: subgraphParams, querystring: subgraphsQuery } },
    async ({ params, query, access }) =>
      descriptions.subgraphs(await read(access, params.assistant_id), {
        namespace: params.namespace,
        recurse: query.recurse,
      }),
  );

  app.patch(
    "/assistants/:assistant_id",
    { schema: { params: assistantParams, body: patchAssistantBody } },
    async ({ params, body, access }) => {
      const { graph_id, name, description, config, context, metadata } = body;
      const value = {
        assistant_id: assistants.idOf(params.assistant_id),
        graph_id,
        name,
        description,
        config,
        context,
        metadata,
      };
      const scope = await access.check("assistants", "update", value);
      const { assistant_id, ...change } = value;
      return assistants.patch(assistant_id, change, scope);
    },
  );

  app.delete(
    "/assistants/:assistant_id",
    { schema: { params: assistantParams, querystring: deleteAssistantQuery } },
    async ({ params, query, access }) => {
      const assistant_id = assistants.idOf(params.assistant_id);
      const scope = await access.check("assistants", "delete", { assistant_id });
      const removeThread = async (thread_id: string) => {
        const visible = await access.check("threads", "delete", { thread_id });
        try {
          await runs.deleteThread(thread_id, { scope: visible });
        } catch (error) {
          // It is somebody else's, or another request was faster.
          if (!isAppError(error, "thread_not_found")) throw error;
        }
      };
      await assistants.remove(assistant_id, scope, query.delete_threads ? removeThread : undefined);
      return [assistant_id];
    },
  );

  app.post(
    "/assistants/:assistant_id/versions",
    { schema: { params: assistantParams, body: versionsBody } },
    async ({ params, body: { metadata, limit, offset }, access }) => {
      const assistant_id = assistants.idOf(params.assistant_id);
      const scope = await access.check("assistants", "read", { assistant_id });
      return assistants.versions(assistant_id, { metadata, limit, offset }, scope);
    },
  );

  app.post(
    "/assistants/:assistant_id/latest",
    { schema: { params: assistantParams, body: latestBody } },
    async ({ params, body, access }) => {
      const value = { assistant_id: assistants.idOf(params.assistant_id), version: body.version };
      const scope = await access.check("assistants", "update", value);
      return assistants.setLatest(value.assistant_id, value.version, scope);
    },
  );
}
