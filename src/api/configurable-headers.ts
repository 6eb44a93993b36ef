// Which headers of a request a graph may read in `configurable`: `http.configurable_headers` of langgraph.json.
import type { FastifyInstance } from "fastify";
import type { Project } from "../graphs/langgraph-json.ts";

declare module "fastify" {
  interface FastifyRequest {
    /** The request's headers that go into the `configurable` of the run it asks for, names in lower case. */
    readonly configurableHeaders: Record<string, string>;
  }
}

/** Credentials: a pattern such as `x-*` does not include them, only their name does. */
const SECRET = new Set([
  "x-api-key",
  "x-tenant-id",
  "x-service-key",
  "x-auth-scheme",
  "authorization",
  "proxy-authorization",
  "cookie",
]);
const BY_DEFAULT = ["x-*", "user-agent"];

export function readConfigurableHeaders(
  app: FastifyInstance,
  { includes = BY_DEFAULT, excludes = [] }: NonNullable<Project["http"]["configurable_headers"]> = {},
): void {
  const included = includes.map(toPattern);
  const excluded = excludes.map(toPattern);
  const named = new Set(includes.map((name) => name.toLowerCase()));
  const isShown = (name: string) =>
    !excluded.some((pattern) => pattern.test(name)) &&
    (SECRET.has(name) ? named.has(name) : included.some((pattern) => pattern.test(name)));
  app.decorateRequest("configurableHeaders", {
    getter() {
      const shown = Object.entries(this.headers).filter(([name]) => isShown(name));
      return Object.fromEntries(shown.map(([name, value]) => [name, String(value)]));
    },
  });
}

/** A name, or one with `*` for any characters. */
const toPattern = (name: string) =>
  new RegExp(
    `^${name
      .toLowerCase()
      .replaceAll(/[^\w*]/g, "\\$&")
      .replaceAll("*", ".*")}$`,
  );
