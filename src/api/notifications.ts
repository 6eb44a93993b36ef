// The route of a conversation's notifications: server-sent events, or with an upgrade a WebSocket. Ids and versions, no data:
// what has changed, the client fetches.
import type { FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import type { Scope } from "../auth/access.ts";
import type { Conversations, Notification } from "../conversations/conversations.ts";
import { toWireJson } from "../events/wire-json.ts";
import { threadParams } from "./schemas/common.ts";
import { notificationsQuery } from "./schemas/conversations.ts";
import { holdSocket, refuse } from "./socket.ts";
import { parseLastEventId, sendEvents, untilGone } from "./sse.ts";

interface NotificationRoutes {
  readonly conversations: Conversations;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

export function notificationRoutes(
  server: FastifyInstance,
  { conversations, draining, stopping }: NotificationRoutes,
): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  app.route({
    method: "GET",
    url: "/threads/:thread_id/notifications",
    config: { errors: "json", websocket: true },
    schema: { params: threadParams, querystring: notificationsQuery },
    handler: async (request, reply) => {
      const { thread_id } = request.params;
      const scope = await request.access.check("threads", "read", { thread_id });
      await conversations.get(thread_id, scope);
      const signal = untilGone(reply, stopping);
      const seen = parseLastEventId(request.headers["last-event-id"]);
      const after = seen === undefined ? request.query.after : Math.max(seen, 0);
      const pages = conversations.follow(thread_id, { scope, after, signal });
      await sendEvents(request, reply, toEvents(pages), { signal, draining });
    },
    wsHandler: async (socket, request) => {
      const { data: { after } = {}, success } = notificationsQuery.safeParse(request.query);
      if (!success) return refuse(socket, 422, "after is the number of a notification");
      let scope: Scope;
      await holdSocket(socket, request, {
        stopping,
        check: async (thread_id) => {
          scope = await request.access.check("threads", "read", { thread_id });
          await conversations.get(thread_id, scope);
        },
        work: async (thread_id, send, signal) => {
          // Nothing is said to this socket but that its client is alive.
          socket.resume();
          for await (const page of conversations.follow(thread_id, { scope, after, signal }))
            for (const about of page) await send(toWireJson(about));
          refuse(socket, 404, "the thread is gone");
        },
      });
    },
  });
}

async function* toEvents(pages: AsyncIterable<readonly Notification[]>) {
  for await (const page of pages)
    yield page.map((about) => ({ seq: about.seq, event: about.type, data: toWireJson(about) }));
}
