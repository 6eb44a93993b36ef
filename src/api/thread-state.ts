// Routes of a thread's state and history.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Access } from "../auth/access.ts";
import type { CheckpointSelector, ThreadStates } from "../threads/state.ts";
import type { ThreadState } from "../threads/thread-state.ts";
import type { StateUpdates } from "../threads/update-state.ts";
import { threadParams } from "./schemas/common.ts";
import {
  checkpointParams,
  historyBody,
  historyQuery,
  patchStateBody,
  stateAtBody,
  stateQuery,
  updateStateBody,
} from "./schemas/threads.ts";

interface StateRoutes {
  readonly states: ThreadStates;
  readonly updates: StateUpdates;
}

type Select = readonly string[] | undefined;

export function threadStateRoutes(server: FastifyInstance, { states, updates }: StateRoutes): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  const get = async (
    access: Access,
    thread_id: string,
    {
      checkpoint,
      subgraphs,
      select,
    }: { checkpoint?: CheckpointSelector; subgraphs: boolean; select: Select },
  ) => {
    const scope = await access.check("threads", "read", { thread_id });
    return pick(await states.get(thread_id, { checkpoint, subgraphs, scope }), select);
  };

  const history = async (
    access: Access,
    thread_id: string,
    { select, ...options }: Parameters<ThreadStates["history"]>[1] & { select: Select },
  ) => {
    const scope = await access.check("threads", "read", { thread_id });
    const found = await states.history(thread_id, { ...options, scope });
    return found.map((state) => pick(state, select));
  };

  app.get(
    "/threads/:thread_id/state",
    { schema: { params: threadParams, querystring: stateQuery } },
    async ({ access, params, query }) => get(access, params.thread_id, query),
  );

  app.post(
    "/threads/:thread_id/state",
    { schema: { params: threadParams, body: updateStateBody } },
    async ({ access, params: { thread_id }, body }) => {
      const asked = { thread_id, values: body.values, as_node: body.as_node };
      const scopes = [
        await access.check("threads", "update", asked),
        await access.check("threads", "read", { thread_id }),
      ];
      const { checkpoint, checkpoint_id = checkpoint?.checkpoint_id } = body;
      const config = await updates.update(
        thread_id,
        {
          values: asked.values ?? null,
          asNode: body.as_node,
          checkpoint: { ...checkpoint, checkpoint_id },
          identity: access.caller?.identity,
        },
        scopes,
      );
      const { checkpoint_ns, checkpoint_id: made } = config.configurable ?? {};
      return { checkpoint: { thread_id, checkpoint_ns, checkpoint_id: made } };
    },
  );

  app.patch(
    "/threads/:thread_id/state",
    { schema: { params: threadParams, body: patchStateBody } },
    async ({ access, params: { thread_id }, body }, reply) => {
      // Not with the metadata: rules that add an owner mean the thread's, not the checkpoint's.
      const scope = await access.check("threads", "update", { thread_id });
      await updates.patch(thread_id, body.metadata, scope);
      return reply.status(204).send();
    },
  );

  app.get(
    "/threads/:thread_id/state/:checkpoint_id",
    { schema: { params: checkpointParams, querystring: stateQuery } },
    async ({ access, params: { thread_id, checkpoint_id }, query }) =>
      get(access, thread_id, { checkpoint: { checkpoint_id }, ...query }),
  );

  app.post(
    "/threads/:thread_id/state/checkpoint",
    { schema: { params: threadParams, body: stateAtBody } },
    async ({ access, params, body: { checkpoint = {}, subgraphs = false, select } }) =>
      get(access, params.thread_id, { checkpoint, subgraphs, select }),
  );

  app.get(
    "/threads/:thread_id/history",
    { schema: { params: threadParams, querystring: historyQuery } },
    async ({ access, params, query }) => history(access, params.thread_id, query),
  );

  app.post(
    "/threads/:thread_id/history",
    { schema: { params: threadParams, body: historyBody } },
    async ({ access, params, body: { limit, before, metadata, checkpoint, select } }) =>
      history(access, params.thread_id, { limit, before, metadata, checkpoint, select }),
  );
}

/** The fields that are asked for; "values.<key>" is one key of the values. */
function pick(state: ThreadState, select: Select): object {
  if (select === undefined) return state;
  const keys = select.filter((field) => field.startsWith("values.")).map((field) => field.slice(7));
  const { values } = state;
  const picked = Object.entries(state).filter(([field]) => select.includes(field));
  if (keys.length === 0 || select.includes("values")) return Object.fromEntries(picked);
  const some = typeof values === "object" && values !== null ? Object.entries(values) : [];
  return {
    ...Object.fromEntries(picked),
    values: Object.fromEntries(some.filter(([key]) => keys.includes(key))),
  };
}
