// The JSON schemas of a graph, as Studio and the SDK show them: from its schema at run time (StateSchema, Zod), else from
// the types of its file. What cannot be found out is null, and in the log once.
import { getConfigTypeSchema } from "@langchain/langgraph/zod/schema";
import { getRuntimeGraphSchema } from "@langchain/langgraph-api/schema";
import type { Logger } from "pino";
import type { Graph } from "./graph.ts";
import type { GraphSource } from "./langgraph-json.ts";
import { createStaticSchemas, type GraphSchema } from "./static-schemas.ts";

export type { GraphSchema };

export interface Schemas {
  /** @param namespace names of nodes joined by "|", when `graph` is the subgraph there */
  of(graphId: string, graph: Graph, namespace?: string): Promise<GraphSchema>;
  close(): Promise<void>;
}

export function createSchemas({ sources, log }: { sources: readonly GraphSource[]; log: Logger }): Schemas {
  const statics = createStaticSchemas();
  const told = new Set<string>();
  const tellOnce = (graphId: string, error: unknown) => {
    if (told.has(graphId)) return;
    told.add(graphId);
    log.warn({ err: error, graph: graphId }, "the schemas of a graph could not be found out");
  };

  const atRunTime = async (graphId: string, graph: Graph): Promise<GraphSchema | undefined> => {
    try {
      const schema = await getRuntimeGraphSchema(graph as never);
      // It leaves out the context of a graph whose state is a StateSchema.
      return schema && { ...schema, config: schema.config ?? getConfigTypeSchema(graph as never) };
    } catch (error) {
      tellOnce(graphId, error);
      return undefined;
    }
  };
  const fromTypes = async (graphId: string, namespace: string | undefined): Promise<GraphSchema> => {
    const source = sources.find(({ id }) => id === graphId);
    if (!source) return {};
    try {
      const schemas = await statics.of(source);
      const root = Object.keys(schemas).find((name) => !name.includes("|"));
      return schemas[namespace === undefined ? `${root}` : `${root}|${namespace}`] ?? {};
    } catch (error) {
      tellOnce(graphId, error);
      return {};
    }
  };
  return {
    async of(graphId, graph, namespace) {
      const schema = await atRunTime(graphId, graph);
      if (schema?.state) return schema;
      // A Zod state with a part that has no JSON schema (z.custom) gives none at all.
      return { ...(await fromTypes(graphId, namespace)), ...withoutUndefined(schema ?? {}) };
    },
    close: () => statics.close(),
  };
}

const withoutUndefined = (schema: GraphSchema): GraphSchema =>
  Object.fromEntries(Object.entries(schema).filter(([, part]) => part !== undefined));
