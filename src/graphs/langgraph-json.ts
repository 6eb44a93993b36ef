// Reads langgraph.json, the file that names a project's graphs (the LangGraph CLI's format). Keys that Heddle does not
// use yet stay allowed, so that one file serves every LangGraph server.
import { existsSync, readFileSync } from "node:fs";
import path from "node:path";
import { z } from "zod";
import { StartupError } from "../errors.ts";

const graphSchema = z.union([
  z.string().min(1),
  z.looseObject({ path: z.string().min(1), description: z.string().optional() }),
]);
const schema = z.looseObject({ graphs: z.record(z.string().min(1), graphSchema) });

export interface GraphSource {
  readonly id: string;
  /** Absolute. */
  readonly file: string;
  readonly exportName: string;
  readonly description: string | undefined;
}

/**
 * The graphs that `file` names.
 * @throws StartupError when the file is missing or not of this form, or names a graph file that is not there
 */
export function readLanggraphJson(file: string): GraphSource[] {
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
  return graphs.map(([id, graph]) => {
    const entry = typeof graph === "string" ? { path: graph } : graph;
    return toSource(file, id, entry.path, "description" in entry ? entry.description : undefined);
  });
}

function toSource(file: string, id: string, reference: string, description: string | undefined): GraphSource {
  const colon = reference.lastIndexOf(":");
  const [graphPath, exportName] =
    colon > 0 ? [reference.slice(0, colon), reference.slice(colon + 1)] : [reference, "default"];
  const graphFile = path.resolve(path.dirname(file), graphPath);
  if (!existsSync(graphFile)) {
    throw new StartupError(`Graph "${id}": there is no file ${graphFile}.`, {
      file,
      next: `Correct graphs.${id}; it is "${reference}".`,
    });
  }
  return { id, file: graphFile, exportName: exportName || "default", description };
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
