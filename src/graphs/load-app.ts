// Loads the project's own HTTP app, `http.app` of langgraph.json: "./path/to/file.ts:export".
import path from "node:path";
import { StartupError } from "../errors.ts";
import { isObject } from "./graph.ts";
import type { Importer } from "./importer.ts";
import type { Project } from "./langgraph-json.ts";

/** Usually Hono's; whatever has its `fetch` is one. */
export interface UserApp {
  fetch(request: Request, bindings: object): Response | Promise<Response>;
  /** Hono's way to set what answers when no route does. */
  notFound?(handler: (context: unknown) => Promise<Response>): unknown;
}

/** @throws StartupError naming the file: its middleware may be what guards the server, so it does not start without */
export async function loadUserApp(
  { file, folder, http }: Project,
  importer: Importer,
): Promise<UserApp | undefined> {
  if (http.app === undefined) return undefined;
  const [, name = "", exportName = "default"] = /^(.+?)(?::([^:/\\]+))?$/.exec(http.app) ?? [];
  const appFile = path.resolve(folder, name);
  let module: Record<string, unknown>;
  try {
    module = await importer.import(appFile);
  } catch (cause) {
    const [line] = String(cause instanceof Error ? cause.message : cause).split("\n");
    throw new StartupError(`http.app cannot be loaded: ${line}`, {
      file: appFile,
      next: `Correct http.app of ${file}, or run the file alone: node ${appFile}`,
      cause,
    });
  }
  const app = await module[exportName];
  if (isUserApp(app)) return app;
  throw new StartupError(
    exportName in module
      ? `http.app: the export "${exportName}" has no function fetch.`
      : `http.app: there is no export "${exportName}"; the file exports ${Object.keys(module).join(", ") || "nothing"}.`,
    { file: appFile, next: 'import { Hono } from "hono"; export const app = new Hono();' },
  );
}

const isUserApp = (value: unknown): value is UserApp => isObject(value) && typeof value.fetch === "function";
