// Routes of a thread's named checkpoints: our own, beside the LangGraph API (document 003).
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { v7 as uuidV7 } from "uuid";
import type { Checkpoints } from "../checkpoints/checkpoints.ts";
import { toSummary } from "../checkpoints/workflow-checkpoint.ts";
import {
  checkpointParams,
  createCheckpointBody,
  listCheckpointsQuery,
  restoreBody,
  storageQuery,
} from "./schemas/checkpoints.ts";
import { threadParams } from "./schemas/common.ts";

interface CheckpointRoutes {
  readonly checkpoints: Checkpoints;
}

const config = { errors: "json" } as const;

export function checkpointRoutes(server: FastifyInstance, { checkpoints }: CheckpointRoutes): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  app.post(
    "/threads/:thread_id/checkpoints",
    { config, schema: { params: threadParams, body: createCheckpointBody } },
    async ({ access, params: { thread_id: threadId }, body }) => {
      // Not with the metadata: rules that add an owner mean the thread's.
      const scope = await access.check("threads", "update", { thread_id: threadId });
      return checkpoints.create(
        { threadId, scope, storage: body.storage },
        {
          workflowId: body.workflow_id,
          metadata: body.metadata,
          langgraphCheckpointId: body.langgraph_checkpoint_id,
        },
      );
    },
  );

  app.get(
    "/threads/:thread_id/checkpoints",
    { config, schema: { params: threadParams, querystring: listCheckpointsQuery } },
    async ({ access, params: { thread_id: threadId }, query }) => {
      const scope = await access.check("threads", "read", { thread_id: threadId });
      const { storage, workflow_id: workflowId, limit, offset } = query;
      const found = await checkpoints.list({ threadId, scope, storage }, { workflowId, limit, offset });
      return found.map(toSummary);
    },
  );

  app.get(
    "/threads/:thread_id/checkpoints/:workflow_checkpoint_id",
    { config, schema: { params: checkpointParams, querystring: storageQuery } },
    async ({ access, params: { thread_id: threadId, workflow_checkpoint_id: id }, query: { storage } }) => {
      const scope = await access.check("threads", "read", { thread_id: threadId });
      return checkpoints.get({ threadId, scope, storage }, id);
    },
  );

  app.post(
    "/threads/:thread_id/checkpoints/:workflow_checkpoint_id/restore",
    { config, schema: { params: checkpointParams, body: restoreBody } },
    async ({ access, params: { thread_id: threadId, workflow_checkpoint_id: id }, body }) => {
      const { storage, new_thread } = body;
      if (new_thread === undefined || new_thread === false) {
        const scope = await access.check("threads", "update", { thread_id: threadId });
        return checkpoints.restore({ threadId, scope, storage }, id);
      }
      const scope = await access.check("threads", "read", { thread_id: threadId });
      const thread_id = new_thread === true ? uuidV7() : new_thread;
      const asked = { thread_id, metadata: { ...body.metadata } };
      const writable = await access.check("threads", "create", asked);
      return checkpoints.restore({ threadId, scope, storage }, id, {
        threadId: thread_id,
        metadata: { ...asked.metadata, thread_id },
        scope: writable,
      });
    },
  );

  app.delete(
    "/threads/:thread_id/checkpoints/:workflow_checkpoint_id",
    { config, schema: { params: checkpointParams, querystring: storageQuery } },
    async (
      { access, params: { thread_id: threadId, workflow_checkpoint_id: id }, query: { storage } },
      reply,
    ) => {
      const scope = await access.check("threads", "update", { thread_id: threadId });
      await checkpoints.remove({ threadId, scope, storage }, id);
      return reply.status(204).send();
    },
  );
}
