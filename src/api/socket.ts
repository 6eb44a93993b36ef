// What every WebSocket of a thread has: the thread's id and the right to it, back-pressure, signs of life, and closing.
import type { WebSocket } from "@fastify/websocket";
import type { FastifyRequest } from "fastify";
import { isAppError } from "../errors.ts";
import { threadParams } from "./schemas/common.ts";

/** Resolves when the client takes what was sent, or has gone. */
export type Send = (text: string) => Promise<void>;

/** A client that does not answer a ping until the next one is gone. */
const PING_MS = 20_000;
/** Bytes that may wait in the socket before the next frame waits. */
const MAX_BUFFERED = 64 * 1024;
/** How long a server that stops waits for its clients to say goodbye. */
const FAREWELL_MS = 1_000;
/** "Service restart": the client connects again. */
const RESTART = 1012;
const INTERNAL = 1011;

/** The SDK reads the HTTP status out of the code. */
export function refuse(socket: WebSocket, status: number, message: string): undefined {
  socket.close(4_000 + status, message.slice(0, 100));
  socket.resume();
}

interface SocketOptions {
  /** Aborts when the server stops, which the client is told, however far the socket has come. */
  readonly stopping: AbortSignal;
  /** @throws AppError when the caller may not have the thread */
  readonly check: (threadId: string) => Promise<unknown>;
  /** Resumes reading: what has come before is not lost. Its end is the caller's to tell. */
  readonly work: (threadId: string, send: Send, gone: AbortSignal) => Promise<void>;
}

/** Does `work` on a socket for the thread of its request, until that returns, the client goes or the server stops. */
export async function holdSocket(
  socket: WebSocket,
  request: FastifyRequest,
  { stopping, check, work }: SocketOptions,
): Promise<void> {
  const gone = new AbortController();
  socket.once("close", () => gone.abort());
  socket.pause();
  const stop = () => {
    socket.close(RESTART, "the server is stopping");
    socket.resume();
    setTimeout(() => socket.terminate(), FAREWELL_MS).unref();
  };
  if (stopping.aborted) return stop();
  stopping.addEventListener("abort", stop, { once: true });
  const stopPinging = keepAlive(socket);
  try {
    const threadId = await permit(socket, request, check);
    if (threadId !== undefined)
      await work(threadId, (text) => sendText(socket, text, gone.signal), gone.signal);
  } catch (error) {
    if (!gone.signal.aborted) {
      request.log.error(error, "a socket's stream broke off");
      socket.close(INTERNAL, "the stream broke off");
    }
  } finally {
    stopping.removeEventListener("abort", stop);
    stopPinging();
  }
}

/** Undefined when the socket was refused. */
async function permit(
  socket: WebSocket,
  request: FastifyRequest,
  check: SocketOptions["check"],
): Promise<string | undefined> {
  const { success, data: params } = threadParams.safeParse(request.params);
  if (!success) return refuse(socket, 422, "the thread's id is no UUID");
  try {
    await check(params.thread_id);
    return params.thread_id;
  } catch (error) {
    return refuse(socket, isAppError(error) ? error.status : 500, isAppError(error) ? error.message : "");
  }
}

async function sendText(socket: WebSocket, text: string, gone: AbortSignal): Promise<void> {
  if (socket.readyState !== socket.OPEN) return;
  const { promise, resolve } = Promise.withResolvers<void>();
  const done = () => resolve();
  socket.send(text, done);
  if (socket.bufferedAmount <= MAX_BUFFERED) return;
  gone.addEventListener("abort", done, { once: true });
  await promise;
  gone.removeEventListener("abort", done);
}

function keepAlive(socket: WebSocket): () => void {
  let isAlive = true;
  socket.on("pong", () => {
    isAlive = true;
  });
  const timer = setInterval(() => {
    if (!isAlive) return socket.terminate();
    isAlive = false;
    socket.ping();
  }, PING_MS);
  return () => clearInterval(timer);
}
