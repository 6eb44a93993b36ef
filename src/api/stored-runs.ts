// Routes of runs that are there: listed, shown, joined, cancelled, deleted.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { isAppError } from "../errors.ts";
import { runNotFound } from "../runs/stop-runs.ts";
import type { Threads } from "../threads/threads.ts";
import { createRunReaders, type RunRoutes } from "./run-readers.ts";
import { showRun } from "./run-shape.ts";
import { runParams, threadParams } from "./schemas/common.ts";
import {
  cancelManyBody,
  cancelManyQuery,
  cancelQuery,
  joinQuery,
  runListQuery,
  type StreamQuery,
  statelessRunParams,
  streamQuery,
} from "./schemas/runs.ts";
import { parseLastEventId } from "./sse.ts";

export function storedRunRoutes(
  server: FastifyInstance,
  options: RunRoutes & { readonly threads: Threads },
): void {
  const { runs, threads } = options;
  const app = server.withTypeProvider<ZodTypeProvider>();
  const readers = createRunReaders(options);
  type Named = { thread_id?: string; run_id: string };

  /** @param cancels whether the run is to stop when the caller goes: he must be allowed to stop it */
  const find = async ({ access }: FastifyRequest, { thread_id, run_id }: Named, cancels = false) => {
    const run = await runs.get(
      thread_id,
      run_id,
      await access.check("threads", "read", { thread_id, run_id }),
    );
    if (!cancels) return run;
    const asked = { thread_id, run_id, action: "interrupt" };
    return runs.get(thread_id, run_id, await access.check("threads", "update", asked));
  };

  /** @throws the error when the thread is there */
  const unlessThreadIsMissing = async ({ access }: FastifyRequest, { thread_id }: Named, error: unknown) => {
    if (thread_id === undefined || !isAppError(error, "run_not_found")) throw error;
    const scope = await access.check("threads", "read", { thread_id });
    const isThere = await threads.get(thread_id, scope).then(
      () => true,
      (missing: unknown) => !isAppError(missing, "thread_not_found"),
    );
    if (isThere) throw error;
  };

  app.get(
    "/threads/:thread_id/runs",
    { schema: { params: threadParams, querystring: runListQuery } },
    async ({ access, params, query }) => {
      const { thread_id } = params;
      const scopes = [
        await access.check("threads", "search", { thread_id }),
        await access.check("threads", "read", { thread_id }),
      ];
      const shown = (await runs.list(thread_id, query, scopes)).map(showRun);
      const { select } = query;
      return select ? shown.map((run) => pick(run, select)) : shown;
    },
  );

  app.get("/threads/:thread_id/runs/:run_id", { schema: { params: runParams } }, async (request) =>
    showRun(await find(request, request.params)),
  );

  app.delete(
    "/threads/:thread_id/runs/:run_id",
    { schema: { params: runParams } },
    async ({ access, params }, reply) => {
      const { thread_id, run_id } = params;
      await runs.remove(thread_id, run_id, await access.check("threads", "delete", { thread_id, run_id }));
      return reply.status(204).send();
    },
  );

  app.get(
    "/threads/:thread_id/runs/:run_id/join",
    { schema: { params: runParams, querystring: joinQuery } },
    async (request, reply) => {
      const run = await find(request, request.params, request.query.cancel_on_disconnect);
      await readers.wait(request, reply, run, { isNew: false, cancel: request.query.cancel_on_disconnect });
    },
  );

  const joinStream = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { params, query }: { params: Named; query: StreamQuery },
  ) => {
    const run = await find(request, params, query.cancel_on_disconnect).catch((error: unknown) =>
      unlessThreadIsMissing(request, params, error),
    );
    // The official server opens the stream before it looks.
    if (!run) return readers.refuse(request, reply, "404: Thread not found");
    const after = parseLastEventId(request.headers["last-event-id"]);
    const known = query.checkpoint_id ? await runs.seqOfCheckpoint(run.run_id, query.checkpoint_id) : -1;
    await readers.stream(request, reply, run, {
      after: after === undefined && known === -1 ? undefined : Math.max(after ?? -1, known),
      isNew: false,
      cancel: query.cancel_on_disconnect,
      modes: query.stream_mode,
      namespaces: query.namespace,
    });
  };

  app.get(
    "/threads/:thread_id/runs/:run_id/stream",
    { schema: { params: runParams, querystring: streamQuery } },
    (request, reply) => joinStream(request, reply, request),
  );

  app.get(
    "/runs/:run_id/stream",
    { schema: { params: statelessRunParams, querystring: streamQuery } },
    (request, reply) => {
      reply.header("content-location", `/runs/${request.params.run_id}`);
      return joinStream(request, reply, request);
    },
  );

  app.post(
    "/threads/:thread_id/runs/:run_id/cancel",
    { schema: { params: runParams, querystring: cancelQuery } },
    async ({ access, params, query }, reply) => {
      const { thread_id, run_id } = params;
      const { action, wait } = query;
      const scope = await access.check("threads", "update", { thread_id, run_id, action });
      const run = await runs.get(thread_id, run_id, scope);
      const reason = query.reason === "taken" ? "taken: its input has gone into another run" : "requested";
      await runs.cancel(thread_id, run_id, { action, reason, scope });
      if (!wait) return reply.status(202).send();
      await readers.untilEnd(reply, run);
      return reply.status(204).send();
    },
  );

  app.post(
    "/runs/cancel",
    { schema: { body: cancelManyBody, querystring: cancelManyQuery } },
    async ({ access, body, query }, reply) => {
      const { thread_id, run_ids, status } = body;
      const { action } = query;
      const scope = await access.check("threads", "update", { thread_id, run_ids, status, action });
      const wanted = { threadId: thread_id, runIds: run_ids, status: status === "all" ? undefined : status };
      const found = await runs.cancelMany(wanted, { action, scope });
      if (found === 0 && run_ids) throw runNotFound();
      return reply.status(204).send();
    },
  );
}

const pick = (run: object, fields: readonly string[]) =>
  Object.fromEntries(Object.entries(run).filter(([field]) => fields.includes(field)));
