// Requests whose sender is known, because they come over a connection in memory: those that have gone through the
// project's own app and come on to our routes, and those that the server sends for somebody. They are known by their
// connection. Nothing that a client sends can make a request look so.
import type { Duplex } from "node:stream";
import type { FastifyRequest } from "fastify";
import type { Access } from "../auth/access.ts";

interface Sender {
  /** What the sender may do; undefined: he is to be asked for his credentials, unless the route answers anybody. */
  readonly access: Access | undefined;
  /** Whether the project's app has had the request. */
  readonly passedOn: boolean;
}
const SENDER = Symbol("sender");

export function markSender(socket: Duplex, sender: Sender): void {
  Object.assign(socket, { [SENDER]: sender });
}

export const isPassedOn = (request: FastifyRequest): boolean => senderOf(request)?.passedOn ?? false;

export const knownAccess = (request: FastifyRequest): Access | undefined => senderOf(request)?.access;

const senderOf = ({ raw }: FastifyRequest) => (raw.socket as { [SENDER]?: Sender } | null)?.[SENDER];
