// The document of the API, GET /openapi.json, made from the routes' own schemas, and a page that shows it, GET /docs.
// What a route does not say about itself (tags, summary, answers) follows from its method and path. Whoever may call the
// API may read both; nobody else may, since they tell what a project has.
import fastifySwagger from "@fastify/swagger";
import fastifySwaggerUi from "@fastify/swagger-ui";
import type { FastifyInstance, FastifySchema } from "fastify";
import { createJsonSchemaTransform, createJsonSchemaTransformObject } from "fastify-type-provider-zod";
import { z } from "zod";
import { ANSWER_SHAPES, ANSWERS, envelope } from "./schemas/answers.ts";

const toJsonSchema = createJsonSchemaTransform({ schemaRegistry: ANSWER_SHAPES });
const withShapes = createJsonSchemaTransformObject({ schemaRegistry: ANSWER_SHAPES });
type Transform = typeof toJsonSchema;

/** Before the routes: only those that come later are seen. */
export async function describeRoutes(
  app: FastifyInstance,
  { version, secured }: { version: string; secured: boolean },
): Promise<void> {
  await app.register(fastifySwagger, {
    openapi: {
      openapi: "3.1.0",
      info: {
        title: "Heddle",
        description: "The LangGraph Server API, and what Heddle adds to it.",
        version,
      },
      components: {
        securitySchemes: {
          apiKey: { type: "apiKey", in: "header", name: "x-api-key" },
          bearer: { type: "http", scheme: "bearer" },
        },
      },
      ...(secured ? { security: [{ apiKey: [] }, { bearer: [] }] } : {}),
    },
    transform: (route) => {
      const { schema, url } = route as { schema: FastifySchema | undefined; url: string };
      const method = [route.route.method].flat().join(",");
      const open = route.route.config?.open === true;
      const complete = { ...describe(method, url), ...(open ? { security: [] } : {}), ...schema };
      return toJsonSchema({ ...route, schema: complete } as unknown as Parameters<Transform>[0]);
    },
    transformObject: (document) => {
      const { components, ...rest } = withShapes(document) as { components?: { schemas?: object } };
      // Each shape is made twice, for what is sent and what is received; nobody sends these.
      const schemas = Object.entries(components?.schemas ?? {}).filter(([name]) => !name.endsWith("Input"));
      return { ...rest, components: { ...components, schemas: Object.fromEntries(schemas) } };
    },
  });
  app.get("/openapi.json", { schema: { summary: "This document" } }, async () => app.swagger());
  await app.register(fastifySwaggerUi, {
    routePrefix: "/docs",
    uiHooks: {
      onRequest: (request, reply, next) => {
        // The plugin sends this path, with a query, to itself again.
        if (request.routeOptions.url === "/docs/static/index.html") reply.redirect("/docs");
        else next();
      },
    },
  });
}

const toNames = (url: string) => url.split("/").filter((part) => part !== "" && !part.startsWith(":"));

/** What the document says of a route that says nothing of itself. */
function describe(method: string, url: string) {
  const names = toNames(url);
  return {
    tags: [toTag(names)],
    summary: toSummary(method, url),
    ...(url.includes(":") ? { params: toParams(url) } : {}),
    operationId: [method.toLowerCase(), ...url.split(/\W+/).filter(Boolean)].join("_"),
    response: {
      ...toAnswer(method, url, names.at(-1) ?? ""),
      default: { description: "An error", content: { "text/plain": { schema: z.string() } } },
    },
  };
}

function toAnswer(method: string, url: string, last: string) {
  const json = (schema: z.ZodType) => ({
    200: { description: "Done", content: { "application/json": { schema } } },
  });
  const known = ANSWERS[`${method} ${url}`];
  if (known) return json(known);
  if (last === "count") return json(z.int());
  if (last === "events" && method === "GET" && !url.includes("/stream/")) {
    const content = { "text/event-stream": { schema: envelope }, "application/jsonl": { schema: envelope } };
    return { 200: { description: "Envelopes", content } };
  }
  if (last === "export") {
    return { 200: { description: "A file", content: { "application/x-ndjson": { schema: z.string() } } } };
  }
  if (["stream", "events", "notifications"].includes(last)) {
    return {
      200: { description: "Server-sent events", content: { "text/event-stream": { schema: z.string() } } },
    };
  }
  return { "2XX": { description: "Done", content: { "application/json": { schema: z.unknown() } } } };
}

const toParams = (url: string) =>
  z.object(Object.fromEntries([...url.matchAll(/:(\w+)/g)].map(([, name = ""]) => [name, z.string()])));

function toTag(names: readonly string[]): string {
  const [first = "", second = ""] = names;
  if (names.includes("crons")) return "crons";
  if (["conversation", "messages", "notifications"].includes(names[1] ?? "")) return "conversations";
  if (second === "commands" || names.slice(-2).join("/") === "stream/events") return "thread protocol";
  if (names.includes("uploads") || names.includes("artifacts")) return "files";
  if (names.includes("runs") || ["threads/stream", "threads/events"].includes(names.join("/"))) return "runs";
  return ["assistants", "threads", "sessions", "store", "ui"].includes(first) ? first : "server";
}

const COLLECTIONS = new Set(["assistants", "threads", "runs", "crons", "uploads", "checkpoints"]);
const POSTS: Record<string, string> = {
  state: "Change the state",
  checkpoint: "Read the state at a checkpoint",
  history: "Read the history",
  wait: "Create a run and wait for its end",
  stream: "Create a run and stream its events",
  events: "Stream events",
  batch: "Create several runs",
  latest: "Make a version the latest",
  versions: "List versions",
  namespaces: "List namespaces",
  commands: "Send a command",
  copy: "Copy a thread",
  import: "Import a thread",
};
const GETS: Record<string, string> = {
  export: "Export a thread",
  join: "Wait for a run's end",
  stream: "Follow the events of runs",
  events: "Stream events",
  notifications: "Follow what changes: ids and versions (SSE, or a WebSocket)",
  "*": "Read a file",
};
const VERBS: Record<string, string> = { DELETE: "Delete", PATCH: "Change", PUT: "Write", GET: "Read" };

/** "POST /threads/search" → "Search threads"; "GET /threads/:thread_id" → "Read a thread". */
function toSummary(method: string, url: string): string {
  const names = toNames(url);
  const isOfOne = /:\w+$/.test(url);
  const last = names.at(-1) ?? "";
  const one = `${/^[aeiou]/.test(last) ? "an" : "a"} ${last.replace(/s$/, "")}`;
  if (method === "GET" && GETS[last]) return GETS[last];
  if (method !== "POST") return `${VERBS[method] ?? method} ${isOfOne ? one : last}`;
  if (COLLECTIONS.has(last)) return `Create ${one}`;
  return POSTS[last] ?? `${last.charAt(0).toUpperCase()}${last.slice(1)} ${names.at(-2) ?? ""}`.trim();
}
