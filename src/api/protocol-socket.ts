// The thread protocol over one WebSocket: commands in, answers and frames out. How a socket lives is in socket.ts.
import type { WebSocket } from "@fastify/websocket";
import type { FastifyRequest } from "fastify";
import { toWireJson } from "../events/wire-json.ts";
import type { Command } from "../protocol/commands.ts";
import { type Connection, createConnection } from "../protocol/connection.ts";
import type { ProtocolDeps, Sender } from "../protocol/deps.ts";
import { ProtocolError, toFailure, toProtocolError } from "../protocol/responses.ts";
import { parseBody } from "./json-body.ts";
import { commandBody } from "./schemas/protocol.ts";
import { holdSocket, type Send } from "./socket.ts";

interface SocketOptions {
  readonly protocol: ProtocolDeps;
  readonly sender: Sender;
  readonly stopping: AbortSignal;
}

export async function serveSocket(
  socket: WebSocket,
  request: FastifyRequest,
  { protocol, sender, stopping }: SocketOptions,
): Promise<void> {
  await holdSocket(socket, request, {
    stopping,
    check: (thread_id) => sender.check("threads", "read", { thread_id }),
    work: async (threadId, send, gone) => {
      const connection = createConnection(protocol, { sender, threadId, send, signal: gone });
      socket.on("message", (data, isBinary) => {
        // One command after the other: the next one is read when this one is answered.
        socket.pause();
        void answer(connection, request, isBinary ? undefined : String(data), send).finally(() => {
          if (socket.readyState === socket.OPEN) socket.resume();
        });
      });
      socket.resume();
      await connection.run();
    },
  });
}

async function answer(
  connection: Connection,
  request: FastifyRequest,
  text: string | undefined,
  send: Send,
): Promise<void> {
  let id: number | null = null;
  try {
    const command = toCommand(text);
    id = command.id;
    await connection.handle(command, (success) => send(toWireJson(success)));
  } catch (error) {
    const known = toProtocolError(error);
    if (!known) request.log.error(error, "a command failed");
    const failure = known ?? new ProtocolError("unknown_error", "The command could not be carried out.");
    await send(toWireJson(toFailure(id, failure)));
  }
}

/** @throws ProtocolError, AppError */
function toCommand(text: string | undefined): Command {
  if (text === undefined) throw new ProtocolError("invalid_argument", "A command is a text, not binary.");
  const { success, data, error } = commandBody.safeParse(parseBody(text));
  if (success) return data;
  const problems = error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new ProtocolError(
    "invalid_argument",
    `A command has an integer id and a method. ${problems.join("; ")}`,
  );
}
