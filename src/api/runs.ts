// Routes that take runs: on a thread, and stateless, each in the background, waited for, or streamed; and many at once.
// What becomes of runs that are there is in stored-runs.ts.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { RunRow } from "../runs/runs.sql.ts";
import { permitRun } from "./run-access.ts";
import { createRunReaders, type RunRoutes } from "./run-readers.ts";
import { toRunRequest } from "./run-request.ts";
import { showRun } from "./run-shape.ts";
import { threadParams } from "./schemas/common.ts";
import { batchBody, newStreamQuery, type RunBody, runBody } from "./schemas/runs.ts";

type Request = FastifyRequest<{ Body?: unknown; Params?: unknown }>;

export function runRoutes(server: FastifyInstance, options: RunRoutes): void {
  const { runs } = options;
  const app = server.withTypeProvider<ZodTypeProvider>();
  const readers = createRunReaders(options);

  const create = async (request: Request, body: RunBody, threadId: string | undefined) =>
    runs.create(await permitRun(request, toRunRequest(body, threadId, request)));

  /** Where the run is found; `Location` makes newer SDKs reconnect by themselves. */
  const pointTo = (reply: FastifyReply, run: RunRow, stateless: boolean) => {
    const place = stateless ? `/runs/${run.run_id}` : `/threads/${run.thread_id}/runs/${run.run_id}`;
    reply.header("content-location", place);
    reply.header("location", `/threads/${run.thread_id}/runs/${run.run_id}/stream`);
  };

  for (const prefix of ["/threads/:thread_id/runs", "/runs"] as const) {
    const stateless = prefix === "/runs";
    const schema = stateless ? { body: runBody } : { params: threadParams, body: runBody };
    const threadOf = (request: Request) =>
      stateless ? undefined : (request.params as { thread_id: string }).thread_id;

    app.post(prefix, { schema }, async (request, reply) => {
      const { run } = await create(request, request.body, threadOf(request));
      pointTo(reply, run, stateless);
      return showRun(run);
    });

    app.post(`${prefix}/wait`, { schema }, async (request, reply) => {
      const { run, isNew } = await create(request, request.body, threadOf(request));
      pointTo(reply, run, stateless);
      await readers.wait(request, reply, run, { isNew, cancel: request.body.on_disconnect === "cancel" });
    });

    app.post(
      `${prefix}/stream`,
      { schema: { ...schema, querystring: newStreamQuery } },
      async (request, reply) => {
        const { run, isNew } = await create(request, request.body, threadOf(request));
        pointTo(reply, run, stateless);
        await readers.stream(request, reply, run, {
          after: -1,
          isNew,
          namespaces: request.query.namespace,
          cancel: request.body.on_disconnect === "cancel",
        });
      },
    );
  }

  app.post("/runs/batch", { schema: { body: batchBody } }, async (request) => {
    const wanted = request.body.map((body) => toRunRequest(body, undefined, { ...request, headers: {} }));
    const permitted = [];
    for (const one of wanted) permitted.push(await permitRun(request, one));
    return (await runs.createAll(permitted)).map(showRun);
  });
}
