// Routes of threads and their state.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Runs } from "../runs/runs.ts";
import type { ThreadStates } from "../threads/state.ts";
import type { ThreadRow } from "../threads/threads.sql.ts";
import type { Threads } from "../threads/threads.ts";
import { pageHeaders } from "./pagination.ts";
import { threadParams } from "./schemas/common.ts";
import {
  checkpointParams,
  createThreadBody,
  historyBody,
  historyQuery,
  patchThreadBody,
  searchThreadsBody,
  stateAtBody,
  stateQuery,
  updateStateBody,
} from "./schemas/threads.ts";

interface ThreadRoutes {
  readonly threads: Threads;
  readonly states: ThreadStates;
  readonly runs: Runs;
}

export function threadRoutes(server: FastifyInstance, { threads, states, runs }: ThreadRoutes): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  /** With the state's values, which a thread that has never run does not have. */
  const show = async ({ error, ...thread }: ThreadRow) => {
    const values = await states.values({ error, ...thread });
    return { ...thread, ...(values === undefined ? {} : { values }), ...(error === null ? {} : { error }) };
  };

  app.post("/threads", { schema: { body: createThreadBody } }, async ({ body }) =>
    show(
      await threads.create({ threadId: body.thread_id, metadata: body.metadata, ifExists: body.if_exists }),
    ),
  );

  app.post("/threads/search", { schema: { body: searchThreadsBody } }, async ({ body }, reply) => {
    const { threads: rows, total } = await threads.search({
      metadata: body.metadata,
      ids: body.ids,
      status: body.status,
      limit: body.limit,
      offset: body.offset,
      sortBy: body.sort_by ?? "created_at",
      sortOrder: body.sort_order ?? "desc",
    });
    reply.headers(pageHeaders(body, rows.length, total));
    const { select } = body;
    const wantsValues = select === undefined || select.includes("values");
    const shown = await Promise.all(rows.map((row) => (wantsValues ? show(row) : row)));
    return select === undefined ? shown : shown.map((thread) => pick(thread, select));
  });

  app.get("/threads/:thread_id", { schema: { params: threadParams } }, async ({ params }) =>
    show(await threads.get(params.thread_id)),
  );

  app.patch(
    "/threads/:thread_id",
    { schema: { params: threadParams, body: patchThreadBody } },
    async ({ params, body }) => show(await threads.patch(params.thread_id, body.metadata ?? {})),
  );

  app.delete("/threads/:thread_id", { schema: { params: threadParams } }, async ({ params }, reply) => {
    await runs.deleteThread(params.thread_id);
    return reply.status(204).send();
  });

  app.get(
    "/threads/:thread_id/state",
    { schema: { params: threadParams, querystring: stateQuery } },
    async ({ params, query }) => states.get(params.thread_id, query),
  );

  app.post(
    "/threads/:thread_id/state",
    { schema: { params: threadParams, body: updateStateBody } },
    async ({ params, body }) => {
      const config = await states.update(params.thread_id, {
        values: body.values ?? null,
        ...(body.as_node === undefined ? {} : { asNode: body.as_node }),
        checkpoint: {
          ...body.checkpoint,
          ...(body.checkpoint_id ? { checkpoint_id: body.checkpoint_id } : {}),
        },
      });
      const { thread_id, checkpoint_ns, checkpoint_id } = config.configurable ?? {};
      return { checkpoint: { thread_id, checkpoint_ns, checkpoint_id } };
    },
  );

  app.get(
    "/threads/:thread_id/state/:checkpoint_id",
    { schema: { params: checkpointParams, querystring: stateQuery } },
    async ({ params, query }) =>
      states.get(params.thread_id, { checkpoint: { checkpoint_id: params.checkpoint_id }, ...query }),
  );

  app.post(
    "/threads/:thread_id/state/checkpoint",
    { schema: { params: threadParams, body: stateAtBody } },
    async ({ params, body }) =>
      states.get(params.thread_id, { checkpoint: body.checkpoint, subgraphs: body.subgraphs ?? false }),
  );

  app.get(
    "/threads/:thread_id/history",
    { schema: { params: threadParams, querystring: historyQuery } },
    async ({ params, query: { limit, before } }) =>
      states.history(params.thread_id, { limit, ...(before === undefined ? {} : { before }) }),
  );

  app.post(
    "/threads/:thread_id/history",
    { schema: { params: threadParams, body: historyBody } },
    async ({ params, body: { limit, before, metadata, checkpoint } }) =>
      states.history(params.thread_id, {
        limit,
        ...(before === undefined ? {} : { before }),
        ...(metadata === undefined ? {} : { metadata }),
        ...(checkpoint === undefined ? {} : { checkpoint }),
      }),
  );
}

const pick = (thread: object, fields: readonly string[]) =>
  Object.fromEntries(Object.entries(thread).filter(([field]) => fields.includes(field)));
