// Reads langgraph.json, the file that describes a project (the LangGraph CLI's format). Keys that Heddle does not use
// stay allowed, so that one file serves every LangGraph server.
import { readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { StartupError } from "../errors.ts";

const graphSchema = z.union([
  z.string().min(1),
  z.looseObject({ path: z.string().min(1), description: z.string().optional() }),
]);
const texts = z.array(z.string());
const ttl = z.looseObject({
  default_ttl: z.number().positive().optional(),
  sweep_interval_minutes: z.number().positive().optional(),
  refresh_on_read: z.boolean().optional(),
});
const schema = z.looseObject({
  graphs: z.record(z.string().min(1), graphSchema),
  env: z.union([z.string(), z.record(z.string(), z.coerce.string()), texts]).optional(),
  auth: z.looseObject({ path: z.string().min(1), disable_studio_auth: z.boolean().optional() }).optional(),
  http: z
    .looseObject({
      app: z.string().min(1).optional(),
      cors: z
        .looseObject({
          allow_origins: texts.optional(),
          allow_origin_regex: z.string().optional(),
          allow_methods: texts.optional(),
          allow_headers: texts.optional(),
          allow_credentials: z.boolean().optional(),
          expose_headers: texts.optional(),
          max_age: z.number().int().min(0).optional(),
        })
        .optional(),
      configurable_headers: z
        .looseObject({ includes: texts.optional(), excludes: texts.optional() })
        .optional(),
      disable_assistants: z.boolean().optional(),
      disable_threads: z.boolean().optional(),
      disable_runs: z.boolean().optional(),
      disable_store: z.boolean().optional(),
      disable_meta: z.boolean().optional(),
      disable_ui: z.boolean().optional(),
    })
    .optional(),
  store: z
    .looseObject({
      index: z
        .looseObject({
          dims: z.number().int().min(1).max(16_000),
          embed: z.string().min(1),
          fields: texts.optional(),
        })
        .optional(),
      ttl: ttl.optional(),
    })
    .optional(),
  checkpointer: z
    .looseObject({
      ttl: z
        .looseObject({
          strategy: z.enum(["delete", "keep_latest"]).default("delete"),
          /** Minutes. */
          default_ttl: z.number().positive().optional(),
        })
        .optional(),
    })
    .nullish(),
  checkpoints: z
    .looseObject({
      /** By graph: what has become of its executors (docs/checkpoints.md). */
      migrations: z.record(z.string(), z.record(z.string(), z.string().nullable())).optional(),
    })
    .optional(),
  ui: z.record(z.string().min(1), z.string().min(1)).optional(),
  /** By name, `./file.ts:export`. Heddle's own key. */
  message_stores: z.record(z.string().regex(/^[\w-]{1,100}$/), z.string().min(1)).optional(),
  ui_config: z.looseObject({ shared: texts.optional() }).optional(),
});

/** What langgraph.json says, as it stands there. */
type ProjectFile = z.output<typeof schema>;

export interface GraphSource {
  readonly id: string;
  /** Absolute. */
  readonly file: string;
  readonly exportName: string;
  /** As it stands in langgraph.json. */
  readonly reference: string;
  /** The langgraph.json, absolute. */
  readonly listedIn: string;
  readonly description: string | undefined;
}

export interface Project {
  /** The langgraph.json, absolute. */
  readonly file: string;
  /** Its folder: relative paths in it start here. */
  readonly folder: string;
  readonly graphs: readonly GraphSource[];
  readonly env: ProjectFile["env"];
  readonly auth: ProjectFile["auth"];
  readonly http: NonNullable<ProjectFile["http"]>;
  readonly store: NonNullable<ProjectFile["store"]>;
  readonly checkpointer: z.output<typeof schema>["checkpointer"];
  readonly checkpoints: NonNullable<ProjectFile["checkpoints"]>;
  readonly ui: NonNullable<ProjectFile["ui"]>;
  readonly message_stores: NonNullable<ProjectFile["message_stores"]>;
  readonly ui_config: ProjectFile["ui_config"];
}

/**
 * The project that `file` describes.
 * @throws StartupError when the file is missing or not of this form
 */
export function readLanggraphJson(file: string): Project {
  const content = parse(file);
  const result = schema.safeParse(content);
  if (!result.success) {
    const [issue] = result.error.issues;
    throw new StartupError(`${issue?.path.join(".") || "The file"}: ${issue?.message ?? "is not valid"}.`, {
      file,
      next: 'It needs "graphs": { "name": "./path/to/file.ts:export" }.',
    });
  }
  const graphs = Object.entries(result.data.graphs);
  if (graphs.length === 0) {
    throw new StartupError("It names no graph.", {
      file,
      next: 'Add one: "graphs": { "name": "./path/to/file.ts:export" }.',
    });
  }
  const {
    env,
    auth,
    http = {},
    store = {},
    checkpointer,
    checkpoints = {},
    ui = {},
    message_stores = {},
    ui_config,
  } = result.data;
  return {
    file,
    folder: path.dirname(file),
    graphs: graphs.map(([id, graph]) => {
      const entry = typeof graph === "string" ? { path: graph } : graph;
      return toSource(file, id, entry.path, "description" in entry ? entry.description : undefined);
    }),
    env,
    auth,
    http,
    store,
    checkpointer,
    checkpoints,
    ui,
    message_stores,
    ui_config,
  };
}

function toSource(file: string, id: string, reference: string, description: string | undefined): GraphSource {
  const colon = reference.lastIndexOf(":");
  const [graphPath, exportName] =
    colon > 0 ? [reference.slice(0, colon), reference.slice(colon + 1)] : [reference, "default"];
  return {
    id,
    file: path.resolve(path.dirname(file), graphPath),
    exportName: exportName || "default",
    reference,
    listedIn: file,
    description,
  };
}

function parse(file: string): unknown {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (error) {
    const missing = error instanceof Error && "code" in error && error.code === "ENOENT";
    throw new StartupError(missing ? "There is no such file." : "The file cannot be read.", {
      file,
      next: "npm start -- --config path/to/langgraph.json",
      cause: error,
    });
  }
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new StartupError(`It is not JSON: ${error instanceof Error ? error.message : error}.`, {
      file,
      next: "Mend the file at that place.",
      cause: error,
    });
  }
}
