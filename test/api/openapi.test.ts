// GET /openapi.json against the routes and against what they answer; the page; who may read them.
import path from "node:path";
import type { FastifyInstance } from "fastify";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { z } from "zod";
import { ANSWERS } from "../../src/api/schemas/answers.ts";
import { startApp, type TestApp } from "../helpers/app.ts";
import { readRoutes } from "../helpers/routes.ts";
import { human } from "../helpers/sdk.ts";

interface Operation {
  readonly tags?: readonly string[];
  readonly summary?: string;
  readonly operationId?: string;
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly responses: Record<string, { readonly content?: Record<string, { readonly schema: object }> }>;
  readonly requestBody?: { readonly content: Record<string, { readonly schema: { properties: object } }> };
  readonly security?: readonly object[];
}
interface Document {
  readonly openapi: string;
  readonly paths: Record<string, Record<string, Operation>>;
  readonly components: { readonly schemas: Record<string, object> };
  readonly security?: readonly object[];
}

const UI = path.resolve(import.meta.dirname, "../fixtures/ui/langgraph.json");
let heddle: TestApp;
let document: Document;
beforeAll(async () => {
  heddle = await startApp({ graphs: UI });
  document = (await (await fetch(`${heddle.url}/openapi.json`)).json()) as Document;
});
afterAll(() => heddle.close());

const routesOf = (server: FastifyInstance) =>
  readRoutes(server).flatMap(({ method, path }) => (method === "HEAD" ? [] : [`${method} ${path}`]));
/** The page's own files, and the answer to preflights, are no part of the API. */
const isApi = (route: string) => !/ \/docs\b/.test(route) && !route.startsWith("OPTIONS ");
const operations = () =>
  Object.entries(document.paths).flatMap(([route, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ route, method, operation })),
  );

describe("the document", () => {
  it("has every route, and nothing else", () => {
    const documented = operations().map(
      ({ method, route }) =>
        `${method.toUpperCase()} ${route.replaceAll(/\{(.+?)\}/g, ":$1").replace(":*", "*")}`,
    );
    const routes = routesOf(heddle.app.server).filter(isApi);
    expect(routes.length).toBeGreaterThan(25);
    expect(documented.sort()).toEqual([...new Set(routes)].sort());
  });

  it("says of each what it is, and its parameters", () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    const ids = operations().map(({ operation }) => operation.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { route, method, operation } of operations()) {
      expect(operation, `${method} ${route}`).toMatchObject({
        tags: [expect.any(String)],
        summary: expect.stringMatching(/^\S.+/),
        responses: { default: expect.anything() },
      });
      for (const [, name] of route.matchAll(/\{(.+?)\}/g)) {
        expect(operation.parameters, `${method} ${route}`).toContainEqual(
          expect.objectContaining({ name, in: "path", required: true }),
        );
      }
    }
  });

  it("has the bodies of the routes", () => {
    const body = document.paths["/threads/{thread_id}/runs"]?.post?.requestBody;
    expect(body?.content["application/json"]?.schema.properties).toMatchObject({
      assistant_id: { type: "string" },
      multitask_strategy: expect.anything(),
    });
    const answer = document.paths["/threads/{thread_id}/runs"]?.post?.responses["200"];
    expect(answer?.content?.["application/json"]?.schema).toEqual({ $ref: "#/components/schemas/Run" });
    expect(document.components.schemas.Run).toHaveProperty("properties.run_id");
    expect(Object.keys(document.components.schemas)).toContain("ThreadState");
    // Every reference leads somewhere.
    for (const [, name = ""] of JSON.stringify(document).matchAll(/"#\/components\/schemas\/(\w+)"/g))
      expect(document.components.schemas).toHaveProperty(name);
  });

  it("shows what is answered", async () => {
    const { client, url } = heddle;
    const thread = await client.threads.create();
    await client.runs.wait(thread.thread_id, "echo", { input: human("hi") });
    const [run] = await client.runs.list(thread.thread_id);
    const state = await client.threads.getState(thread.thread_id);
    const messages = [{ type: "human", data: { content: "hi" } }];
    await fetch(`${url}/sessions/s`, {
      method: "PUT",
      body: JSON.stringify({ chat_message_store_state: { messages } }),
    });
    const named = await fetch(`${url}/threads/${thread.thread_id}/checkpoints`, { method: "POST" });
    const values: Record<string, string> = {
      workflow_checkpoint_id: ((await named.json()) as { checkpoint_id: string }).checkpoint_id,
      session_id: "s",
      thread_id: thread.thread_id,
      run_id: run?.run_id ?? "",
      message_id: run?.run_id ?? "",
      assistant_id: "echo",
      checkpoint_id: state.checkpoint?.checkpoint_id ?? "",
    };
    const bodies: Record<string, object> = {
      "POST /threads/:thread_id/runs": { assistant_id: "echo", multitask_strategy: "enqueue" },
      "POST /runs": { assistant_id: "echo" },
      "PATCH /threads/:thread_id/conversation": { values: { objective: "Why?" } },
      "POST /threads/:thread_id/state": { values: human("more") },
      "POST /threads/:thread_id/state/checkpoint": { checkpoint: state.checkpoint },
    };
    // Routes whose answers need what only tests of their own make.
    const elsewhere = /crons|store|batch|latest|versions|^(POST|PATCH) \/assistants(\/:assistant_id)?$/;
    const routes = new Set(routesOf(heddle.app.server));
    const checked = Object.entries(ANSWERS).filter(([route]) => routes.has(route) && !elsewhere.test(route));
    expect(checked.length).toBeGreaterThan(12);
    for (const [route, shape] of checked) {
      const [method = "", pattern = ""] = route.split(" ");
      const target = pattern.replaceAll(/:(\w+)/g, (_, name: string) => values[name] ?? "");
      const response = await fetch(url + target, {
        method,
        ...(method === "GET" ? {} : { body: JSON.stringify(bodies[route] ?? {}) }),
      });
      expect(response.status, route).toBe(200);
      const result = (shape as z.ZodType).safeParse(await response.json());
      expect(result.error?.issues ?? [], route).toEqual([]);
      await client.runs.list(thread.thread_id).then(async (runs) => {
        for (const { run_id, status } of runs)
          if (status === "pending" || status === "running") await client.runs.join(thread.thread_id, run_id);
      });
    }
  });
});

describe("the page", () => {
  it("and all that it loads comes from this server", async () => {
    const page = await fetch(`${heddle.url}/docs`);
    expect(page.headers.get("content-type")).toMatch(/^text\/html/);
    const text = await page.text();
    const loaded = [...text.matchAll(/(?:src|href)="([^"]+)"/g)].map((match) => match[1] ?? "");
    expect(loaded.length).toBeGreaterThan(3);
    for (const target of loaded) {
      expect(target).toMatch(/^\/docs\/static\//);
      const file = await fetch(heddle.url + target);
      expect(file.status, target).toBe(200);
      await file.body?.cancel();
    }
    expect(await (await fetch(`${heddle.url}/docs/static/swagger-initializer.js`)).text()).toMatch(
      /"?validatorUrl"?: null/,
    );
  });
});

describe("with API_KEYS", () => {
  it("document and page need a key, and the document says so", async () => {
    const guarded = await startApp({ env: { API_KEYS: "ada:key-of-ada", WORKERS: "0" }, beside: heddle });
    try {
      for (const route of ["/openapi.json", "/docs", "/docs/json", "/docs/static/index.html", "/metrics"])
        expect((await fetch(guarded.url + route)).status, route).toBe(401);
      const response = await fetch(`${guarded.url}/openapi.json`, { headers: { "x-api-key": "key-of-ada" } });
      const guardedDocument = (await response.json()) as Document;
      expect(guardedDocument.security).toEqual([{ apiKey: [] }, { bearer: [] }]);
      expect(guardedDocument.paths["/info"]?.get?.security).toEqual([]);
      expect(guardedDocument.paths["/threads"]?.post?.security).toBeUndefined();
    } finally {
      await guarded.close();
    }
  });
});
