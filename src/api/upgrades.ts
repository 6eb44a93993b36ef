// Upgrades of a connection: only to a WebSocket, and only on routes that have one. The plugin for them would open one on
// any route, and close it.
import type {} from "@fastify/websocket";
import type { FastifyInstance } from "fastify";
import { AppError } from "../errors.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Whether the route opens WebSockets. */
    websocket?: boolean;
  }
}

/** After the hooks that say who may do what: a stranger does not learn which routes there are. */
export function refuseOtherUpgrades(app: FastifyInstance): void {
  app.addHook("onRequest", async (request) => {
    if (!request.ws || request.is404 || request.routeOptions.config.websocket) return;
    throw new AppError("route_not_found", `There is no WebSocket at ${request.url.split("?")[0]}`);
  });
}
