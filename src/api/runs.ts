// Routes of runs: on a thread, and stateless, each in the background, waited for, or streamed.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { AppError } from "../errors.ts";
import { toWireJson } from "../events/wire-json.ts";
import type { RunRow } from "../runs/runs.sql.ts";
import type { Runs } from "../runs/runs.ts";
import { toRunRequest } from "./run-request.ts";
import { runParams, threadParams } from "./schemas/common.ts";
import { cancelQuery, joinQuery, type RunBody, runBody, runListQuery } from "./schemas/runs.ts";
import { parseLastEventId, sendEvents, sendWhenReady, untilGone } from "./sse.ts";

interface RunRoutes {
  readonly runs: Runs;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

type Request = FastifyRequest<{ Body?: unknown; Params?: unknown }>;

export function runRoutes(server: FastifyInstance, { runs, draining, stopping }: RunRoutes): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  const create = (request: Request, body: RunBody, threadId: string | undefined) =>
    runs.create(toRunRequest(body, threadId, request.headers));

  /** Where the run is found; `Location` makes newer SDKs reconnect by themselves. */
  const pointTo = (reply: FastifyReply, run: RunRow, stateless: boolean) => {
    const place = stateless ? `/runs/${run.run_id}` : `/threads/${run.thread_id}/runs/${run.run_id}`;
    reply.header("content-location", place);
    reply.header("location", `/threads/${run.thread_id}/runs/${run.run_id}/stream`);
  };

  const show = ({ error, ...run }: RunRow) => (error === null ? run : { ...run, error });

  const stream = async (
    request: Request,
    reply: FastifyReply,
    run: RunRow,
    { after, isNew, cancel }: { after?: number | undefined; isNew: boolean; cancel: boolean },
  ) => {
    const signal = untilGone(reply, stopping);
    const pages = runs.follow(run.run_id, { ...(after === undefined ? {} : { after }), isNew, signal });
    await sendEvents(request, reply, pages, { signal, draining });
    if (cancel) await cancelIfGone(request, run, signal);
  };

  const wait = async (
    request: Request,
    reply: FastifyReply,
    run: RunRow,
    { isNew, cancel }: { isNew: boolean; cancel: boolean },
  ) => {
    const signal = untilGone(reply, stopping);
    const value = runs.join(run, { isNew, signal }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      request.log.error(error, "the result could not be read");
      const message = error instanceof AppError ? error.message : "The result could not be read.";
      return { __error__: { error: "JoinError", message } };
    });
    await sendWhenReady(reply, value.then(toWireJson));
    if (cancel) await cancelIfGone(request, run, signal);
  };

  const cancelIfGone = async (request: Request, run: RunRow, signal: AbortSignal) => {
    if (!signal.aborted || stopping.aborted) return;
    await runs
      .cancel(run.thread_id, run.run_id, "interrupt")
      .catch((error: unknown) =>
        request.log.error(error, "the run of a client that has gone could not be cancelled"),
      );
  };

  for (const prefix of ["/threads/:thread_id/runs", "/runs"] as const) {
    const stateless = prefix === "/runs";
    const schema = stateless ? { body: runBody } : { params: threadParams, body: runBody };
    const threadOf = (request: Request) =>
      stateless ? undefined : (request.params as { thread_id: string }).thread_id;

    app.post(prefix, { schema }, async (request, reply) => {
      const { run } = await create(request, request.body, threadOf(request));
      pointTo(reply, run, stateless);
      return show(run);
    });

    app.post(`${prefix}/wait`, { schema }, async (request, reply) => {
      const { run, isNew } = await create(request, request.body, threadOf(request));
      pointTo(reply, run, stateless);
      await wait(request, reply, run, { isNew, cancel: request.body.on_disconnect === "cancel" });
    });

    app.post(`${prefix}/stream`, { schema }, async (request, reply) => {
      const { run, isNew } = await create(request, request.body, threadOf(request));
      pointTo(reply, run, stateless);
      await stream(request, reply, run, {
        after: -1,
        isNew,
        cancel: request.body.on_disconnect === "cancel",
      });
    });
  }

  app.get(
    "/threads/:thread_id/runs",
    { schema: { params: threadParams, querystring: runListQuery } },
    async ({ params, query }) => (await runs.list(params.thread_id, query)).map(show),
  );

  app.get("/threads/:thread_id/runs/:run_id", { schema: { params: runParams } }, async ({ params }) =>
    show(await runs.get(params.thread_id, params.run_id)),
  );

  app.get(
    "/threads/:thread_id/runs/:run_id/join",
    { schema: { params: runParams, querystring: joinQuery } },
    async (request, reply) => {
      const run = await runs.get(request.params.thread_id, request.params.run_id);
      await wait(request, reply, run, { isNew: false, cancel: request.query.cancel_on_disconnect });
    },
  );

  app.get(
    "/threads/:thread_id/runs/:run_id/stream",
    { schema: { params: runParams, querystring: joinQuery } },
    async (request, reply) => {
      const run = await runs.get(request.params.thread_id, request.params.run_id);
      const after = parseLastEventId(request.headers["last-event-id"]);
      await stream(request, reply, run, { after, isNew: false, cancel: request.query.cancel_on_disconnect });
    },
  );

  app.post(
    "/threads/:thread_id/runs/:run_id/cancel",
    { schema: { params: runParams, querystring: cancelQuery } },
    async ({ params, query }, reply) => {
      const { thread_id, run_id } = params;
      const run = await runs.get(thread_id, run_id);
      await runs.cancel(thread_id, run_id, query.action);
      if (!query.wait) return reply.status(202).send();
      for await (const _ of runs.follow(run.run_id, { unread: true, signal: untilGone(reply, stopping) }));
      return reply.status(204).send();
    },
  );
}
