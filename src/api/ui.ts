// Generative UI: the components that langgraph.json names under `ui`, bundled for the client, which loads them into the
// page (`LoadExternalComponent` of the SDK). Until the first bundle is there a request waits for it.
import path from "node:path";
import { Worker } from "node:worker_threads";
import type { FastifyBaseLogger, FastifyInstance } from "fastify";
import type { ZodTypeProvider } from "fastify-type-provider-zod";
import { z } from "zod";
import { AppError } from "../errors.ts";
import type { Project } from "../graphs/langgraph-json.ts";
import type { UiFile, UiMessage, UiWorkerData } from "./ui-worker.ts";

const TYPES: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
  ".png": "image/png",
  ".woff2": "font/woff2",
};

/** How long a build that has to stop may take. */
const STOP_MS = 5_000;

type Bundle = readonly UiFile[] | Error;

export function uiRoutes(
  server: FastifyInstance,
  { project, log }: { project: Project; log: FastifyBaseLogger },
): void {
  const app = server.withTypeProvider<ZodTypeProvider>();
  const find = startBundling(server, project, log);

  app.post(
    "/ui/:agent",
    {
      schema: {
        params: z.object({ agent: z.string() }),
        body: z.looseObject({ name: z.string() }),
        summary: "Tags that load an agent's UI components",
      },
    },
    async ({ params: { agent }, body: { name }, headers }, reply) => {
      const files = await find(agent);
      return reply.type("text/html; charset=utf-8").send(toHtml(agent, name, files, headers.host ?? ""));
    },
  );

  app.get(
    "/ui/:agent/:basename",
    // A page loads them with script and link, which carry no credentials.
    {
      schema: {
        params: z.object({ agent: z.string(), basename: z.string() }),
        summary: "A file of an agent's UI components",
      },
      config: { open: true },
    },
    async ({ params }, reply) => {
      const file = (await find(params.agent)).find(({ basename }) => basename === params.basename);
      if (!file) throw new AppError("ui_not_found", "File not found");
      const type = TYPES[path.extname(file.basename)] ?? "application/octet-stream";
      return reply.type(type).header("x-content-type-options", "nosniff").send(Buffer.from(file.contents));
    },
  );
}

/** @returns the newest bundle of an agent: the first one is waited for. It throws AppError ui_not_found, internal */
function startBundling(server: FastifyInstance, { folder, ui, ui_config }: Project, log: FastifyBaseLogger) {
  const agents = Object.keys(ui);
  const first = new Map(agents.map((agent) => [agent, Promise.withResolvers<Bundle>()] as const));
  const newest = new Map<string, Bundle>();
  const settle = (agent: string, bundle: Bundle) => {
    newest.set(agent, bundle);
    first.get(agent)?.resolve(bundle);
  };
  const fail = (agent: string, reason: string) => {
    const file = path.resolve(folder, ui[agent] ?? "");
    log.error({ agent, file }, `the UI of "${agent}" cannot be bundled: ${reason}`);
    settle(agent, new Error(reason));
  };

  const start = () => {
    const workerData: UiWorkerData = { cwd: folder, sources: ui, shared: ui_config?.shared ?? [] };
    const worker = new Worker(new URL("./ui-worker.ts", import.meta.url), { workerData });
    worker.unref();
    const ended = new Promise((resolve) => worker.once("exit", resolve));
    worker.on("message", (message: UiMessage) =>
      "files" in message ? settle(message.agent, message.files) : fail(message.agent, message.error),
    );
    worker.on("error", (error) => {
      for (const agent of agents) fail(agent, error.message);
    });
    return async () => {
      worker.postMessage("stop");
      const late = setTimeout(() => void worker.terminate(), STOP_MS);
      await ended;
      clearTimeout(late);
    };
  };
  // Not before the server listens: it takes seconds of a processor.
  let stop: (() => Promise<void>) | undefined;
  server.addHook("onListen", async () => {
    stop ??= start();
  });
  server.addHook("onClose", async () => {
    // Who waits for a bundle does not get one any more.
    for (const agent of agents) settle(agent, []);
    await stop?.();
  });

  return async (agent: string): Promise<readonly UiFile[]> => {
    if (first.has(agent)) stop ??= start();
    const bundle = newest.get(agent) ?? (await first.get(agent)?.promise);
    if (!bundle) throw new AppError("ui_not_found", `UI not found for agent "${agent}"`);
    if (bundle instanceof Error) {
      throw new AppError("internal", `The UI of agent "${agent}" cannot be bundled; the log says why.`, {
        cause: bundle,
      });
    }
    return bundle;
  };
}

/** Tags that load the components and show one, as the SDK expects them: it puts the id of its shadow root in. */
function toHtml(agent: string, name: string, files: readonly UiFile[], host: string): string {
  // A page of https must not load over http; this machine has nothing else.
  const scheme = /^(localhost|127\.0\.0\.1)(:|$)/.test(host) ? "http:" : "";
  const origin = /^[\w.:[\]-]+$/.test(host) ? `${scheme}//${host}` : "";
  const place = ({ basename }: UiFile) => `${origin}/ui/${encodeURIComponent(agent)}/${basename}`;
  const ofType = (extension: string) => files.filter((file) => path.extname(file.basename) === extension);
  const call = `__LGUI_${agent.replaceAll(/[^a-zA-Z0-9]/g, "_")}.render(${toAttribute(JSON.stringify(name))}, "{{shadowRootId}}")`;
  return [
    ...ofType(".css").map((file) => `<link rel="stylesheet" href="${place(file)}" />`),
    ...ofType(".js")
      .slice(0, 1)
      .map((file) => `<script src="${place(file)}" onload='${call}'></script>`),
  ].join("\n");
}

/** Inside of single quotes. */
const toAttribute = (text: string) =>
  text.replaceAll("&", "&amp;").replaceAll("'", "&#39;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
