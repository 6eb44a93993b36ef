// Routes of the newer thread protocol: commands over HTTP, frames as server-sent events, both over a WebSocket.
import type { FastifyInstance, FastifyRequest } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { AppError } from "../errors.ts";
import { matches, needsStates } from "../protocol/channels.ts";
import { runCommand } from "../protocol/commands.ts";
import type { ProtocolDeps, Sender } from "../protocol/deps.ts";
import { followThread } from "../protocol/follow-thread.ts";
import { type Frame, toFrameJson } from "../protocol/frame.ts";
import { toFailure, toProtocolError } from "../protocol/responses.ts";
import { runnableAssistants } from "./access.ts";
import { serveSocket } from "./protocol-socket.ts";
import { threadParams } from "./schemas/common.ts";
import { commandBody, eventsBody } from "./schemas/protocol.ts";
import { sendTexts, untilGone } from "./sse.ts";

interface ProtocolRoutes {
  readonly protocol: ProtocolDeps;
  /** Aborts when the server is told to stop. */
  readonly draining: AbortSignal;
  /** Aborts when the time for that is over: open streams end. */
  readonly stopping: AbortSignal;
}

export function protocolRoutes(
  server: FastifyInstance,
  { protocol, draining, stopping }: ProtocolRoutes,
): void {
  const app = server.withTypeProvider<ZodTypeProvider>();

  app.post(
    "/threads/:thread_id/commands",
    { schema: { params: threadParams, body: commandBody } },
    async (request) => {
      const { body, params } = request;
      try {
        return await runCommand(protocol, toSender(request), params.thread_id, body);
      } catch (error) {
        const failure = toProtocolError(error);
        if (!failure) throw error;
        return toFailure(body.id, failure);
      }
    },
  );

  app.post(
    "/threads/:thread_id/stream/events",
    { schema: { params: threadParams, body: eventsBody } },
    async (request, reply) => {
      const { body, params } = request;
      const scope = await request.access.check("threads", "read", { thread_id: params.thread_id });
      const signal = untilGone(reply, stopping);
      const pages = followThread(protocol, params.thread_id, {
        scope,
        since: body.since,
        withoutStates: !needsStates(body),
        signal,
      });
      const texts = toTexts(pages, (frame) => matches(body, frame));
      await sendTexts(request, reply, texts, { signal, draining });
    },
  );

  app.route({
    method: "GET",
    url: "/threads/:thread_id/stream/events",
    config: { websocket: true },
    schema: { summary: "Commands and events of a thread (WebSocket)" },
    handler: async () => {
      throw new AppError("route_not_found", "Only a WebSocket is opened with GET; events come with POST.");
    },
    wsHandler: async (socket, request) =>
      serveSocket(socket, request, { protocol, sender: toSender(request), stopping }),
  });
}

const toSender = ({ access, configurableHeaders }: FastifyRequest): Sender => ({
  caller: access.caller,
  headers: configurableHeaders,
  check: (resource, action, value) => access.check(resource, action, value),
  runnable: (assistantId) => runnableAssistants(access, assistantId),
});

async function* toTexts(pages: AsyncIterable<readonly Frame[]>, isWanted: (frame: Frame) => boolean) {
  for await (const page of pages) {
    const text = page
      .filter(isWanted)
      .map((frame) => `event: ${frame.method}\nid: ${frame.eventId}\ndata: ${toFrameJson(frame)}\n\n`)
      .join("");
    if (text !== "") yield text;
  }
}
