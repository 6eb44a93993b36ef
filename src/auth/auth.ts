// Chooses whose rules hold: the project's (`auth` of langgraph.json), those of API_KEYS, or none. What cannot be loaded
// ends the start: a server that was to ask for credentials must not answer without.
import path from "node:path";
import { StartupError } from "../errors.ts";
import type { Importer } from "../graphs/importer.ts";
import type { Project } from "../graphs/langgraph-json.ts";
import { OPEN_ACCESS, type Rules } from "./access.ts";
import { type ApiKey, createKeyRules } from "./api-keys.ts";
import { createProjectRules, isProjectAuth, type ProjectAuth } from "./project-rules.ts";

export interface AuthDescription {
  /** In words, for the first lines. */
  readonly how: string;
  /** Whether everybody may do everything. */
  readonly open: boolean;
  /** The header by which a caller says who he is; undefined where there is none, or only the project knows it. */
  readonly header?: string;
}

export interface Auth extends Rules {
  readonly description: AuthDescription;
}

/** @throws StartupError when the project's auth cannot be loaded, or there are API_KEYS as well */
export async function createAuth({
  apiKeys,
  project,
  importer,
}: {
  apiKeys: readonly ApiKey[];
  project: Project;
  importer: Importer;
}): Promise<Auth> {
  if (project.auth && apiKeys.length > 0) {
    throw new StartupError(
      "langgraph.json has auth.path and API_KEYS is set: only one can tell who a caller is.",
      {
        file: project.file,
        next: "Unset API_KEYS, or take auth out of langgraph.json.",
      },
    );
  }
  if (project.auth) {
    const auth = await loadProjectAuth(project, project.auth.path, importer);
    return {
      ...createProjectRules(auth),
      description: { how: project.auth.path, open: false },
    };
  }
  if (apiKeys.length > 0) {
    const names = [...new Set(apiKeys.map((key) => key.name))];
    return {
      ...createKeyRules(apiKeys),
      description: { how: `API_KEYS of ${names.join(", ")}`, open: false, header: "x-api-key" },
    };
  }
  return {
    authenticate: async () => OPEN_ACCESS,
    accessOf: () => OPEN_ACCESS,
    description: { how: "none", open: true },
  };
}

async function loadProjectAuth(
  project: Project,
  reference: string,
  importer: Importer,
): Promise<ProjectAuth> {
  const [, name = "", exportName = "default"] = /^(.+?)(?::([^:/\\]+))?$/.exec(reference) ?? [];
  const file = path.resolve(project.folder, name);
  const module = await importer.import(file).catch((cause: unknown) => {
    throw new StartupError(`auth.path cannot be loaded: ${firstLine(cause)}`, {
      file,
      next: `Correct auth.path of ${project.file}, or run the file alone: node ${file}`,
      cause,
    });
  });
  const auth = await module[exportName];
  if (isProjectAuth(auth)) return auth;
  throw new StartupError(
    exportName in module
      ? `auth.path: the export "${exportName}" is no Auth with an authenticate handler.`
      : `auth.path: there is no export "${exportName}"; the file exports ${Object.keys(module).join(", ") || "nothing"}.`,
    {
      file,
      next: 'import { Auth } from "@langchain/langgraph-sdk/auth"; export const auth = new Auth().authenticate(…);',
    },
  );
}

const firstLine = (error: unknown) =>
  String(error instanceof Error ? error.message : error).split("\n")[0] ?? "";
