// What the server says of itself in GET /info and GET /models, from its settings and parts.
import type { ModelInfo, ServerInfo } from "../api/server-info.ts";
import type { Config } from "../config.ts";
import type { Project } from "../graphs/langgraph-json.ts";
import type { Graphs } from "../graphs/registry.ts";
import type { SandboxDescription } from "../kit/sandbox.ts";
import type { ThreadFiles } from "../kit/thread-files.ts";
import { createSandboxes } from "../sandbox/sandboxes.ts";
import type { Store } from "../store/store.ts";

export async function describeSandbox(config: Config, files: ThreadFiles): Promise<SandboxDescription> {
  const sandboxes = createSandboxes({ provider: config.sandbox, dataDir: config.dataDir, files });
  const description = await sandboxes.describe();
  await sandboxes.close();
  return description;
}

export function toModelInfos(config: Config): ModelInfo[] {
  if (config.models.length === 0)
    return [{ name: "demo", model: "demo", supports_vision: false, is_default: true }];
  return config.models.map((model, index) => ({
    name: model.name,
    model: model.model ?? model.name,
    supports_vision: model.vision,
    is_default: index === 0,
  }));
}

export function toServerInfo(
  versions: { heddle: string; langgraph: string },
  { ids, failures }: Graphs,
  sandbox: SandboxDescription,
  project: Project,
  { search }: Pick<Store, "search">,
): ServerInfo {
  const runs = !project.http.disable_runs;
  return {
    version: versions.heddle,
    langgraph_js_version: versions.langgraph,
    context: "js",
    flags: {
      assistants: !project.http.disable_assistants,
      crons: runs,
      langsmith: false,
      stream_namespaces: runs,
      strict_resume: runs,
    },
    heddle: { version: versions.heddle, graphs: ids, failed_graphs: failures, sandbox, store: { search } },
  };
}
