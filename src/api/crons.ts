// Routes of crons: on a thread, and stateless.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { z } from "zod";
import type { CronRow } from "../crons/crons.sql.ts";
import type { CronChanges, Crons } from "../crons/crons.ts";
import { runnableAssistants } from "./access.ts";
import { pageHeaders } from "./pagination.ts";
import { threadParams } from "./schemas/common.ts";
import {
  countCronsBody,
  createCronBody,
  cronParams,
  patchCronBody,
  searchCronsBody,
  toPayload,
} from "./schemas/crons.ts";

export function cronRoutes(server: FastifyInstance, { crons }: { readonly crons: Crons }): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  const create = async (
    { access }: FastifyRequest,
    body: z.output<typeof createCronBody>,
    threadId: string | undefined,
  ) => {
    // The rules say of both, of the cron and of its runs, what is to be noted on them: the owner, for one.
    const { metadata, ...fields } = toPayload(body);
    const run = {
      assistant_id: body.assistant_id,
      thread_id: threadId,
      metadata: { ...(metadata as object | undefined) },
      kwargs: fields,
    };
    const assistantScope = await runnableAssistants(access, body.assistant_id);
    const threadScope = await access.check("threads", "create_run", run);
    const value = {
      cron_id: crons.newId(),
      thread_id: threadId,
      schedule: body.schedule,
      end_time: body.end_time,
      user_id: access.caller?.identity,
      payload: { ...fields, metadata: run.metadata },
      metadata: { ...(metadata as object | undefined) },
    };
    await access.check("crons", "create", value);
    return show(
      await crons.create({
        ...toChanges(body),
        cronId: value.cron_id,
        schedule: body.schedule,
        assistantId: body.assistant_id,
        threadId,
        payload: value.payload,
        metadata: value.metadata,
        owner: access.caller,
        threadScope,
        assistantScope,
      }),
    );
  };

  app.post(
    "/threads/:thread_id/runs/crons",
    { schema: { params: threadParams, body: createCronBody } },
    (request) => create(request, request.body, request.params.thread_id),
  );

  app.post("/runs/crons", { schema: { body: createCronBody } }, (request) =>
    create(request, request.body, undefined),
  );

  app.post("/runs/crons/search", { schema: { body: searchCronsBody } }, async ({ access, body }, reply) => {
    const scope = await access.check("crons", "search", body);
    const { crons: rows, total } = await crons.search({
      ...toFilter(body),
      scope,
      limit: body.limit,
      offset: body.offset,
      sortBy: body.sort_by ?? "created_at",
      sortOrder: body.sort_order ?? "desc",
    });
    reply.headers(pageHeaders(body, rows.length, total));
    const { select } = body;
    return rows.map(show).map((cron) => (select === undefined ? cron : pick(cron, select)));
  });

  app.post("/runs/crons/count", { schema: { body: countCronsBody } }, async ({ access, body }) => {
    const scope = await access.check("crons", "search", body);
    return crons.count({ ...toFilter(body), scope });
  });

  app.get("/runs/crons/:cron_id", { schema: { params: cronParams } }, async ({ access, params }) => {
    const scope = await access.check("crons", "read", { cron_id: params.cron_id });
    return show(await crons.get(params.cron_id, scope));
  });

  app.patch(
    "/runs/crons/:cron_id",
    { schema: { params: cronParams, body: patchCronBody } },
    async ({ access, params, body }) => {
      const { metadata, ...fields } = toPayload(body);
      const run = { metadata: { ...(metadata as object | undefined) }, kwargs: fields };
      await access.check("threads", "create_run", run);
      const value = {
        cron_id: params.cron_id,
        schedule: body.schedule,
        payload: { ...fields, metadata: run.metadata },
        metadata: { ...(metadata as object | undefined) },
      };
      const scope = await access.check("crons", "update", value);
      const changes = { ...toChanges(body), payload: value.payload, metadata: value.metadata };
      return show(await crons.patch(params.cron_id, changes, scope));
    },
  );

  app.delete("/runs/crons/:cron_id", { schema: { params: cronParams } }, async (request, reply) => {
    const { cron_id } = request.params;
    const scope = await request.access.check("crons", "delete", { cron_id });
    await crons.remove(cron_id, scope);
    return reply.status(204).send();
  });
}

const toChanges = (body: {
  schedule?: string | undefined;
  timezone?: string | null | undefined;
  end_time?: Date | null | undefined;
  enabled?: boolean | undefined;
  on_run_completed?: "delete" | "keep" | undefined;
}): Omit<CronChanges, "payload"> => ({
  schedule: body.schedule,
  timezone: body.timezone,
  endTime: body.end_time,
  enabled: body.enabled,
  onRunCompleted: body.on_run_completed,
});

const toFilter = (body: z.output<typeof countCronsBody>) => ({
  assistantId: body.assistant_id,
  threadId: body.thread_id,
  enabled: body.enabled,
  metadata: body.metadata,
});

/** What does not apply is left out, as the SDK has it. */
const show = ({ on_run_completed, last_failure, ...cron }: CronRow) => ({
  ...cron,
  ...(on_run_completed === null ? {} : { on_run_completed }),
  ...(last_failure === null ? {} : { last_failure }),
});

const pick = (cron: object, fields: readonly string[]) =>
  Object.fromEntries(Object.entries(cron).filter(([field]) => fields.includes(field)));
