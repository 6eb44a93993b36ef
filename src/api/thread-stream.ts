// The route of a thread's joined stream: all its runs, those to come as well, until the client goes.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { ProtocolDeps } from "../protocol/deps.ts";
import { joinThread } from "../protocol/join-thread.ts";
import { threadParams } from "./schemas/common.ts";
import { threadStreamQuery } from "./schemas/thread-stream.ts";
import { sendEvents, untilGone } from "./sse.ts";

interface ThreadStreamRoutes {
  readonly protocol: ProtocolDeps;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

export function threadStreamRoutes(
  server: FastifyInstance,
  { protocol, draining, stopping }: ThreadStreamRoutes,
): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  app.get(
    "/threads/:thread_id/stream",
    { schema: { params: threadParams, querystring: threadStreamQuery } },
    async (request, reply) => {
      const { thread_id } = request.params;
      const { stream_mode = [], stream_modes = [] } = request.query;
      const scope = await request.access.check("threads", "read", { thread_id });
      await protocol.threads.get(thread_id, scope);
      const asked = [...stream_mode, ...stream_modes];
      const signal = untilGone(reply, stopping);
      const pages = joinThread(protocol, thread_id, {
        scope,
        modes: asked.length > 0 ? asked : ["run_modes"],
        since: parseThreadEventId(request.headers["last-event-id"]),
        signal,
      });
      await sendEvents(request, reply, pages, { signal, draining });
    },
  );
}

/** As `parseLastEventId`, for the greater ids of a thread. */
function parseThreadEventId(header: string | string[] | undefined): number | undefined {
  if (header === undefined) return undefined;
  const text = String(header).trim();
  return /^\d{1,15}$/.test(text) ? Number(text) : -1;
}
