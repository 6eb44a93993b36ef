// Which web pages may call the API: `http.cors` of langgraph.json, with CORS_ORIGINS as its default. A preflight is
// answered here, before anything asks for credentials.
import fastifyCors from "@fastify/cors";
import type { FastifyInstance } from "fastify";
import { AppError, StartupError } from "../errors.ts";
import type { Project } from "../graphs/langgraph-json.ts";

/** What the SDKs read in a browser, and the version of a conversation. */
const ALWAYS_EXPOSED = ["content-location", "etag", "location", "x-pagination-total", "x-pagination-next"];
const METHODS = ["GET", "HEAD", "PUT", "POST", "DELETE", "PATCH", "QUERY"];

type Cors = NonNullable<Project["http"]["cors"]>;

/** @throws StartupError for a pattern of origins that is none */
export async function allowOrigins(
  app: FastifyInstance,
  origins: readonly string[],
  { file, http: { cors = {} } }: Pick<Project, "file" | "http">,
): Promise<void> {
  const origin = toOrigin(cors, origins, file);
  app.addHook("onRequest", async (request, reply) => {
    // A page on the internet asks for a server in a private network, or on this machine: Studio does.
    if (request.headers["access-control-request-private-network"] === "true") {
      reply.header("access-control-allow-private-network", "true");
    }
  });
  await app.register(fastifyCors, {
    origin,
    methods: cors.allow_methods ?? METHODS,
    // A list with "*" would not cover `Authorization`; without one all that is asked for is allowed.
    ...(cors.allow_headers && !cors.allow_headers.includes("*")
      ? { allowedHeaders: cors.allow_headers }
      : {}),
    exposedHeaders: [
      ...new Set([...(cors.expose_headers ?? []).map((name) => name.toLowerCase()), ...ALWAYS_EXPOSED]),
    ],
    credentials: cors.allow_credentials ?? false,
    ...(cors.max_age === undefined ? {} : { maxAge: cors.max_age }),
    // An OPTIONS that is no preflight gets the same answer.
    strictPreflight: false,
  });
  app.addHook("onRequest", async (request, reply) => {
    const { origin } = request.headers;
    // A browser lets any page open a WebSocket, and asks nobody: only its first request can be refused.
    if (!request.ws || origin === undefined || reply.hasHeader("access-control-allow-origin")) return;
    const isOwn = URL.canParse(origin) && new URL(origin).host === request.host;
    if (!isOwn) throw new AppError("forbidden", "Pages of this origin may not connect.");
  });
}

/** The pattern wins over the list, and has to match the whole origin: a part would let `https://a.example.evil` in. */
function toOrigin(cors: Cors, origins: readonly string[], file: string): "*" | (string | RegExp)[] {
  const { allow_origin_regex: pattern, allow_origins: listed = origins } = cors;
  if (pattern !== undefined) {
    try {
      return [new RegExp(`^(?:${pattern})$`)];
    } catch (cause) {
      throw new StartupError(
        `http.cors.allow_origin_regex: ${cause instanceof Error ? cause.message : cause}.`,
        {
          file,
          next: 'Give a regular expression that matches the whole origin: "https://.*\\\\.example\\\\.com".',
          cause,
        },
      );
    }
  }
  return listed.includes("*") ? "*" : [...listed];
}
