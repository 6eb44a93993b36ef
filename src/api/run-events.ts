// The routes of the envelopes (docs/envelope.md): of a run, of all runs of a thread; as server-sent events, or as JSON
// lines to be kept.
import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Envelopes, ReadOptions } from "../envelope/envelopes.ts";
import { parseCursor, type Sent } from "../envelope/joiner.ts";
import type { Runs } from "../runs/runs.ts";
import type { Threads } from "../threads/threads.ts";
import { runParams, threadParams } from "./schemas/common.ts";
import { type EnvelopesQuery, envelopesQuery } from "./schemas/run-events.ts";
import { JSON_LINES, SERVER_SENT_EVENTS, sendTexts, untilGone } from "./sse.ts";

interface RunEventsRoutes {
  readonly envelopes: Envelopes;
  readonly runs: Runs;
  readonly threads: Threads;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

export function runEventsRoutes(
  server: FastifyInstance,
  { envelopes, runs, threads, draining, stopping }: RunEventsRoutes,
): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  const send = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { profile, format }: EnvelopesQuery,
    read: (options: ReadOptions) => AsyncIterable<readonly Sent[]>,
  ) => {
    const signal = untilGone(reply, stopping);
    const isDownload = format === undefined ? wantsJsonLines(request) : format === "jsonl";
    const cursor = parseCursor(String(request.headers["last-event-id"] ?? ""));
    const pages = read({ profile, cursor, isDownload, signal });
    const form = isDownload ? JSON_LINES : SERVER_SENT_EVENTS;
    await sendTexts(
      request,
      reply,
      toTexts(pages, isDownload ? toLine : toEvent),
      { signal, draining },
      form,
    );
  };

  app.get(
    "/threads/:thread_id/runs/:run_id/events",
    {
      schema: { params: runParams, querystring: envelopesQuery, summary: "Follow what happens in a run" },
      config: { errors: "json" },
    },
    async (request, reply) => {
      const { thread_id, run_id } = request.params;
      await runs.get(thread_id, run_id, await request.access.check("threads", "read", { thread_id, run_id }));
      await send(request, reply, request.query, (options) => envelopes.ofRun(run_id, options));
    },
  );

  app.get(
    "/threads/:thread_id/events",
    {
      schema: {
        params: threadParams,
        querystring: envelopesQuery,
        summary: "Follow what happens in the runs of a thread",
      },
      config: { errors: "json" },
    },
    async (request, reply) => {
      const { thread_id } = request.params;
      const scope = await request.access.check("threads", "read", { thread_id });
      await threads.get(thread_id, scope);
      await send(request, reply, request.query, (options) =>
        envelopes.ofThread(thread_id, { ...options, scope }),
      );
    },
  );
}

const wantsJsonLines = ({ headers }: FastifyRequest) =>
  /\bapplication\/(jsonl|x-ndjson)\b/.test(headers.accept ?? "");

async function* toTexts(pages: AsyncIterable<readonly Sent[]>, toText: (sent: Sent) => string) {
  for await (const page of pages) if (page.length > 0) yield page.map(toText).join("");
}

const toLine = ({ envelope }: Sent) => `${JSON.stringify(envelope)}\n`;

const toEvent = ({ cursor, envelope }: Sent) =>
  `event: ${envelope.type}\ndata: ${JSON.stringify(envelope)}\nid: ${cursor}\n\n`;
