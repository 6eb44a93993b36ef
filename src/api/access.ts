// Gives each request its Access, before anything of it is looked at: after the CORS preflight, before routes, bodies and
// what a project adds. A path without a route is asked for credentials as well.
import type { FastifyInstance, FastifyRequest } from "fastify";
import {
  type Access,
  type Authenticate,
  type IncomingRequest,
  OPEN_ACCESS,
  type Scope,
} from "../auth/access.ts";
import { isAppError } from "../errors.ts";
import { knownAccess } from "./known-sender.ts";

declare module "fastify" {
  interface FastifyRequest {
    access: Access;
  }
  interface FastifyContextConfig {
    /** Whether the route answers anybody, without credentials. */
    open?: boolean;
  }
}

export function giveAccess(app: FastifyInstance, authenticate: Authenticate): void {
  app.decorateRequest("access");
  app.addHook("onRequest", async (request) => {
    request.access =
      knownAccess(request) ??
      (request.routeOptions.config.open ? OPEN_ACCESS : await authenticate(toIncomingRequest(request)));
  });
}

/**
 * Which assistants the caller may run. The graphs' own are everybody's to run (`assistants.get`), also where the rules
 * let him read none.
 */
export async function runnableAssistants(access: Access, assistant_id: string): Promise<Scope> {
  try {
    return await access.check("assistants", "read", { assistant_id });
  } catch (error) {
    if (isAppError(error, "forbidden")) return { $either: [] };
    throw error;
  }
}

/** A request may name itself by path or by address, and any host: the path is the only part that is the router's. */
export function toIncomingRequest({ method, protocol, host, url, headers }: FastifyRequest): IncomingRequest {
  const path = url.startsWith("/") ? url : url.replace(/^\w+:\/\/[^/]*\/?/, "/");
  const origin = URL.canParse(`${protocol}://${host}/`) ? `${protocol}://${host}` : `${protocol}://localhost`;
  return { method, url: origin + path, headers };
}
